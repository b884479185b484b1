"""`python -m tools.dashboard`: generate files from the table of metrics in `svc/metrics.py`.

The program writes docs/operate/grafana/svc.json, docs/operate/prometheus/svc.rules.yml (see alerts.py) and the tables
in docs/operate/metrics.md. A test checks that these files are up to date, and that panels use only existing metrics.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc.metrics import TABLE, CounterMetric, HistogramMetric, Metric
from tools.alerts import rules_text

DOCS = Path(__file__).parents[1] / "docs/operate"
DASHBOARD = DOCS / "grafana/svc.json"
RULES = DOCS / "prometheus/svc.rules.yml"
PAGE = DOCS / "metrics.md"
BEGIN, END = "<!-- made by python -m tools.dashboard -->", "<!-- end -->"

# A panel is as wide as a third of the grid, which has 24 columns.
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24


@dataclass(frozen=True)
class Panel:
    """A graph with a title, Grafana's name for the unit, and (expression, legend) pairs."""

    title: str
    unit: str
    shows: tuple[tuple[str, str], ...]


def rate(series: str, by: str = "", of: str = "") -> str:
    """Return the PromQL expression for a counter's rate per second, grouped by the label `by`, if any."""
    return f"sum{_by(by)}(rate({series}{of}[$__rate_interval]))"


def quantile(share: float, metric: str, by: str = "", of: str = "") -> str:
    """Return the PromQL expression for a quantile of a histogram's observations, grouped by the label `by`, if any."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{of}[$__rate_interval])))"


def mean(metric: str, by: str = "") -> str:
    """Return the PromQL expression for the mean of a histogram's observations, by a label."""
    return f"{rate(f'{metric}_sum', by)} / {rate(f'{metric}_count', by)}"


def _by(label: str) -> str:
    return f" by ({label}) " if label else ""


def spread(metric: str) -> tuple[tuple[str, str], ...]:
    """Return the PromQL expressions for a histogram's median and 99th percentile, with their legends."""
    return ((quantile(0.5, metric), "median"), (quantile(0.99, metric), "p99"))


ROWS: dict[str, tuple[Panel, ...]] = {
    "Requests": (
        Panel("Requests by status", "reqps", ((rate("svc_http_request_seconds_count", "status"), "{{status}}"),)),
        Panel("Errors by code", "reqps", ((rate("svc_http_errors_total", "code"), "{{code}}"),)),
        Panel("Duration", "s", spread("svc_http_request_seconds")),
        Panel(
            "Request and response bodies",
            "Bps",
            (
                (rate("svc_http_body_bytes_total", "route", '{direction="sent"}'), "{{route}} sent"),
                (rate("svc_http_body_bytes_total", "route", '{direction="received"}'), "{{route}} received"),
            ),
        ),
        Panel("Requests by route", "reqps", ((rate("svc_http_request_seconds_count", "route"), "{{route}}"),)),
        Panel("Duration by route, p95", "s", ((quantile(0.95, "svc_http_request_seconds", "route"), "{{route}}"),)),
        Panel(
            "Connections",
            "short",
            (
                ("svc_http_connections", "open"),
                ("svc_http_connections_limit", "limit"),
                ("svc_http_in_flight", "requests in progress"),
            ),
        ),
        Panel(
            "Rejected",
            "reqps",
            (
                (rate("svc_http_malformed_total", "status"), "malformed: {{status}}"),
                (rate("svc_http_connections_ended_total"), "closed at the limit"),
            ),
        ),
    ),
    "Pushes": (
        Panel("Pushes", "reqps", ((rate("svc_push_total", "outcome"), "{{outcome}}"),)),
        Panel("Parts of pushes", "reqps", ((rate("svc_push_parts_total", "outcome"), "{{outcome}}"),)),
        Panel("Lag", "s", spread("svc_push_lag_seconds")),
        Panel("Accounts whose totals are late", "short", (("svc_accounts_behind", "over two hours"),)),
        Panel(
            "Waiting",
            "short",
            (("svc_push_waiting", "pushes"), (mean("svc_push_group_size"), "pushes per transaction")),
        ),
    ),
    "Accounts": (
        Panel("By state", "short", (("svc_accounts", "{{state}}"),)),
        Panel(
            "Operations",
            "short",
            (
                (
                    "sum by (kind, outcome) (increase(svc_operation_seconds_count[$__rate_interval]))",
                    "{{kind}} {{outcome}}",
                ),
                ("svc_operations_running", "{{kind}} in progress"),
            ),
        ),
        Panel("Operation duration, p90", "s", ((quantile(0.9, "svc_operation_seconds", "kind"), "{{kind}}"),)),
        Panel("Account actors", "short", (("svc_actors", "{{state}}"),)),
        Panel(
            "Requests waiting for actors",
            "short",
            (("svc_mailbox_waiting", "all accounts"), ("svc_mailbox_depth", "longest queue")),
        ),
        Panel(
            "Delays",
            "s",
            (
                (quantile(0.99, "svc_mailbox_wait_seconds"), "requests to actors, p99"),
                (quantile(0.99, "svc_due_late_seconds"), "due work, p99"),
            ),
        ),
        Panel(
            "Actor request duration, p95", "s", ((quantile(0.95, "svc_actor_ask_seconds", "outcome"), "{{outcome}}"),)
        ),
        Panel("Duty duration, mean", "s", ((mean("svc_duty_seconds", "duty"), "{{duty}}"),)),
        Panel(
            "Failures",
            "short",
            (
                (rate("svc_actor_crashes_total"), "actor crashes per second"),
                (rate("svc_sync_failures_total"), "failed syncs per second"),
                ("svc_sync_behind", "accounts with unsynced configuration"),
            ),
        ),
        Panel(
            "Worker rollout",
            "short",
            (
                ("svc_rollout_accounts", "{{outcome}}"),
                ("svc_rollout_state", "{{state}}"),
            ),
        ),
    ),
    "Cloudflare API": (
        Panel("Calls", "reqps", ((rate("svc_platform_call_seconds_count", "area, outcome"), "{{area}} {{outcome}}"),)),
        Panel("Duration, p95", "s", ((quantile(0.95, "svc_platform_call_seconds", "area"), "{{area}}"),)),
        Panel("In progress", "short", (("svc_platform_running", "calls"), ("svc_platform_waiting", "waiting"))),
        Panel(
            "Throttled",
            "reqps",
            (
                (rate("svc_platform_held_back_total", "reason"), "{{reason}}"),
                (rate("svc_platform_call_seconds_count", of='{outcome="throttled"}'), "throttled"),
            ),
        ),
        Panel("Wait before a call", "s", spread("svc_platform_wait_seconds")),
    ),
    "Store": (
        Panel("Up", "short", (("svc_store_up", "up"),)),
        Panel("Size", "bytes", (("svc_store_bytes", "on disk"),)),
        Panel("Last successful backup", "s", (("svc_backup_age_seconds", "age"),)),
        Panel("Commit duration", "s", spread("svc_store_commit_seconds")),
        Panel("Read duration", "s", spread("svc_store_read_seconds")),
        Panel("Wait, p99", "s", ((quantile(0.99, "svc_store_wait_seconds", "access"), "{{access}}"),)),
        Panel(
            "Load",
            "short",
            (("svc_store_waiting", "waiting"), (mean("svc_store_group_size"), "transactions per commit")),
        ),
        Panel("Failures", "reqps", ((rate("svc_store_failures_total", "reason"), "{{reason}}"),)),
        Panel("Rows deleted", "short", ((rate("svc_housekeeping_rows_total", "chore"), "{{chore}}"),)),
        Panel("Housekeeping duration, mean", "s", ((mean("svc_housekeeping_seconds", "chore"), "{{chore}}"),)),
    ),
    "Links": (
        Panel("Requests to targets", "reqps", ((rate("svc_link_target_checks_total", "result"), "{{result}}"),)),
    ),
    "Mail": (
        Panel("Waiting", "short", (("svc_mail_waiting", "emails"),)),
        Panel(
            "Oldest email",
            "s",
            (("svc_mail_oldest_seconds", "all"), ("svc_mail_untried_seconds", "without an attempt to send it")),
        ),
        Panel("Attempts", "short", ((rate("svc_mail_tries_total", "outcome"), "{{outcome}}"),)),
        Panel(
            "Problems",
            "short",
            (
                (rate("svc_mail_expired_total"), "expired per second"),
                (rate("svc_mail_server_away_total"), "server unavailable, per second"),
            ),
        ),
    ),
    "Process": (
        Panel("Version", "short", (("svc_build_info", "{{version}} {{bundle}}"),)),
        Panel("Event loop lag", "s", spread("svc_loop_lag_seconds")),
        Panel("Log lines", "reqps", ((rate("svc_log_lines_total", "level"), "{{level}}"),)),
        Panel("CPU", "percentunit", (("rate(process_cpu_seconds_total[$__rate_interval])", "cores"),)),
        Panel("Memory", "bytes", (("process_resident_memory_bytes", "resident"),)),
        Panel("Files and tasks", "short", (("process_open_fds", "files"), ("svc_tasks", "tasks"))),
        Panel(
            "Garbage collections",
            "short",
            (("rate(python_gc_collections_total[$__rate_interval])", "generation {{generation}}"),),
        ),
    ),
}


def dashboard() -> dict[str, Any]:
    """Return the dashboard in Grafana's import format. The user selects the data source during the import."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row, inside in ROWS.items():
        panels.append(
            {"id": len(panels) + 1, "type": "row", "title": row, "collapsed": False, "panels": [], "gridPos": _at(0, y)}
        )
        y += 1
        for number, panel in enumerate(inside):
            x = number * _WIDTH % _COLUMNS
            panels.append(_graph(len(panels) + 1, panel, {"x": x, "y": y, "w": _WIDTH, "h": _HEIGHT}))
            if x + _WIDTH == _COLUMNS or number == len(inside) - 1:
                y += _HEIGHT
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    return {
        "uid": "svc",
        "title": "svc",
        "tags": ["svc"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "templating": {
            "list": [
                source,
                {
                    "name": "instance",
                    "type": "query",
                    "label": "Instance",
                    "datasource": _SOURCE,
                    "query": "label_values(svc_build_info, instance)",
                    "includeAll": True,
                    "multi": True,
                    "refresh": 2,
                },
            ]
        },
        "panels": panels,
    }


_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_NAME = re.compile(r"\b(?:svc|process|python)_\w+")


def _at(x: int, y: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": _COLUMNS, "h": 1}


def _graph(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "gridPos": place,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": _of_instance(expression), "legendFormat": legend}
            for index, (expression, legend) in enumerate(panel.shows)
        ],
    }


def _of_instance(expression: str) -> str:
    """Return the expression limited to the selected instances."""

    def chosen(found: re.Match[str]) -> str:
        name, labels = found.groups()
        both = ", ".join([*([labels[1:-1]] if labels else []), 'instance=~"$instance"'])
        return f"{name}{{{both}}}"

    return re.sub(rf"({_NAME.pattern})(\{{[^}}]*\}})?", chosen, expression)


def tables() -> str:
    """Return the tables for the documentation page."""
    parts = []
    for area, metrics in TABLE.items():
        rows = [f"| `{metric.name}` | {_kind(metric)} | {_labels(metric)} | {metric.help} |" for metric in metrics]
        parts.append(
            "\n".join([f"## {area}", "", "| metric | kind | labels | meaning |", "| --- | --- | --- | --- |", *rows])
        )
    return "\n\n".join(parts)


def _kind(metric: Metric) -> str:
    if isinstance(metric, HistogramMetric):
        return "histogram"
    return "counter" if isinstance(metric, CounterMetric) else "gauge"


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{label}`" for label in metric.labels)


def page(text: str) -> str:
    """Return the documentation page with updated tables."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def dashboard_text() -> str:
    """Return the content of the dashboard file."""
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    DASHBOARD.parent.mkdir(exist_ok=True)
    DASHBOARD.write_text(dashboard_text())
    RULES.parent.mkdir(exist_ok=True)
    RULES.write_text(rules_text())
    PAGE.write_text(page(PAGE.read_text()))
