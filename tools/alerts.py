"""What is worth waking somebody: the alerts of docs/prometheus/svc.rules.yml, which `python -m tools.dashboard` writes.

An alert is about what people notice or what nothing mends by itself. Its threshold is where that begins and not where a
number looks odd; `wait` is how long it may be so, in Prometheus' words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Alert:
    """`urgent`: somebody is kept from something now; `soon`: it can wait for a morning. `means`, `do`: a sentence."""

    name: str
    urgency: Literal["urgent", "soon"]
    wait: str
    expression: str
    means: str
    do: str


def _share(part: str, of: str) -> str:
    """How large the part of a counter with these labels is, by instance."""
    return f"sum by (instance) (rate({of}{part}[10m])) / sum by (instance) (rate({of}[10m]))"


def _quantile(share: float, metric: str, window: str = "10m") -> str:
    return f"histogram_quantile({share}, sum by (instance, le) (rate({metric}_bucket[{window}])))"


_REQUESTS, _CALLS = "svc_http_request_seconds_count", "svc_platform_call_seconds_count"

ALERTS = (
    Alert(
        "SvcDown",
        "urgent",
        "2m",
        'up{job="svc"} == 0',
        "The service does not answer its metrics' address.",
        "See whether it runs: systemctl status svc, journalctl -u svc.",
    ),
    Alert(
        "SvcStoreAway",
        "urgent",
        "2m",
        "svc_store_up == 0",
        "The store cannot be read or written; requests get 503, workers keep what they count and send it later.",
        "See whether the database runs and its disk has room; svc check tells what is in the way.",
    ),
    Alert(
        "SvcRequestsFail",
        "urgent",
        "10m",
        _share('{status="5xx"}', _REQUESTS) + " > 0.02",
        "More than 2 % of requests fail.",
        "The log tells each under its request; svc_http_errors_total tells the codes.",
    ),
    Alert(
        "SvcConnectionsFull",
        "urgent",
        "5m",
        "svc_http_connections > 0.9 * svc_http_connections_limit",
        "Nearly all connections are taken; who comes next ends somebody else's.",
        "See in the proxy who holds them; raise [http] connections and the limit on open files.",
    ),
    Alert(
        "SvcLoopLag",
        "urgent",
        "10m",
        f"{_quantile(0.99, 'svc_loop_lag_seconds')} > 0.25",
        "Everything waits a quarter of a second before it begins.",
        "See the processor: the service's own use, and what else runs on the machine.",
    ),
    Alert(
        "SvcErrorsLogged",
        "soon",
        "0m",
        'increase(svc_log_lines_total{level="error"}[15m]) > 0',
        "The log has errors: each is something that should not happen.",
        "Read them: journalctl -u svc -p err.",
    ),
    Alert(
        "SvcAccountsCrash",
        "soon",
        "0m",
        "increase(svc_actor_crashes_total[15m]) > 0",
        "The work on an account ended by a fault; it is begun again, with growing waits.",
        "The log has the traceback, under its edge_account.",
    ),
    Alert(
        "SvcWorkLate",
        "soon",
        "10m",
        f"{_quantile(0.99, 'svc_due_late_seconds')} > 60",
        "What accounts have due begins over a minute late.",
        "See the loop's lag and the calls that wait for a place at the edge platform.",
    ),
    Alert(
        "SvcPushesLate",
        "soon",
        "30m",
        f"{_quantile(0.95, 'svc_push_lag_seconds', '1h')} > 7200",
        "Workers send what is over two hours old; reports lag behind by as much.",
        "See whether they can reach the service: the certificate, the proxy, bot protection (docs/cloudflare.md).",
    ),
    Alert(
        "SvcAccountsBehind",
        "soon",
        "30m",
        "svc_accounts_behind > 3 and svc_accounts_behind > 1.2 * svc_accounts_behind offset 2h",
        "More and more accounts have totals that are over two hours old.",
        "As for late pushes; where it is one user's, the account says why.",
    ),
    Alert(
        "SvcAccountsSilent",
        "soon",
        "1h",
        'svc_accounts{state="no_connection"} > 3'
        ' and svc_accounts{state="no_connection"} > 1.2 * svc_accounts{state="no_connection"} offset 1d',
        "More and more workers have not been heard of for a day.",
        "See whether they can reach the service, and whether the edge platform has an incident.",
    ),
    Alert(
        "SvcConfigurationsBehind",
        "soon",
        "1h",
        "svc_sync_behind > 0",
        "A change of a site or link has not come to its worker for an hour.",
        "GET /v1/accounts/{id} tells why; an account whose free rows of the day are used up waits for midnight UTC.",
    ),
    Alert(
        "SvcPlatformThrottles",
        "soon",
        "15m",
        _share('{outcome="throttled"}', _CALLS) + " > 0.01",
        "The edge platform turns away more than 1 % of the calls.",
        "See svc_platform_held_back_total, and whether another program uses the same tokens or address.",
    ),
    Alert(
        "SvcPlatformFails",
        "soon",
        "15m",
        _share('{outcome=~"unavailable|unknown"}', _CALLS) + " > 0.2",
        "A fifth of the calls to the edge platform fail; what has to be done there waits.",
        "See its status page; everything is tried again by itself.",
    ),
    Alert(
        "SvcRolloutHalted",
        "soon",
        "1m",
        'svc_rollout_state{state="halted"} == 1',
        "The update of workers is halted; those that were not updated go on to count.",
        "svc rollout status tells why; svc rollout resume goes on (docs/operate/upgrade.md).",
    ),
    Alert(
        "SvcMailWaits",
        "soon",
        "10m",
        "svc_mail_oldest_seconds > 3600",
        "An e-mail has waited for an hour; people wait for links.",
        "svc check tells at which step the mail server refuses.",
    ),
    Alert(
        "SvcBackupOld",
        "soon",
        "1h",
        "svc_backup_age_seconds > 172800",
        "The last good backup is over two days old.",
        "Run svc backup, and see what became of the timer: systemctl status svc-backup.timer (docs/operate/backup.md).",
    ),
    Alert(
        "SvcFilesFew",
        "soon",
        "10m",
        "process_open_fds > 0.8 * process_max_fds",
        "Most of the files that the process may open are open.",
        "Raise LimitNOFILE of the unit.",
    ),
)


def rules_text() -> str:
    """The rules file."""
    lines = ["# Made by python -m tools.dashboard.", "groups:", "  - name: svc", "    rules:"]
    for alert in ALERTS:
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {json.dumps(alert.expression)}",
            f"        for: {alert.wait}",
            f"        labels: {{severity: {alert.urgency}}}",
            f"        annotations: {{summary: {json.dumps(alert.means)}, description: {json.dumps(alert.do)}}}",
        ]
    return "\n".join(lines) + "\n"
