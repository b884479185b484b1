"""All metrics of the service, and the functions with which other packages update them.

Each package receives the process's `Metrics` object. Examples of calls:

    metrics.count(SYNC_FAILURES)
    metrics.observe(CALL_SECONDS, took_s, "d1", "ok")

Gauges that describe a state are updated only when Prometheus scrapes the metrics (`at_scrape`). tools/dashboard.py
generates docs/operate/metrics.md and the dashboard from `TABLE`.

The number of series is limited. Each label lists its allowed values, and any other value becomes `other`. If a label's
values are names from the code (route templates, duties), the metric has at most `MAX_CHILDREN` combinations of labels,
and further names become `other`. No label contains a user, an account, a host, a short code or an address.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import prometheus_client as prometheus
import prometheus_client.registry
import trio

from svc.errors import CATALOGUE
from svc.model import TARGET_PROBLEMS, AccountState, OperationKind, RolloutState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Creation times are not needed and would double the number of series.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]

# Interval at which the event loop's lag is measured.
_LOOP_EVERY_S = 0.1
# The label value that replaces values that are not allowed.
OTHER = "other"
# The maximum number of label combinations per metric. It is sufficient for all endpoints with all statuses, and for all
# paths with methods that they do not support.
MAX_CHILDREN = 2_000
# Marks a label whose values are names from the code. Any value is allowed.
NAMES: tuple[str, ...] = ()

CONTENT_TYPE = prometheus.CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric with its name, its help text, and each label's allowed values (see `NAMES`)."""

    name: str
    help: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CounterMetric(Metric):
    """A counter. It starts at 0 with the process and never decreases."""


@dataclass(frozen=True, eq=False)
class GaugeMetric(Metric):
    """A gauge. It shows a current value."""


@dataclass(frozen=True, eq=False)
class HistogramMetric(Metric):
    """A histogram. `buckets` are the upper bounds. The metric's name contains the unit."""

    buckets: tuple[float, ...] = ()


# Upper bounds of histogram buckets, in seconds. They distinguish normal, noticeable and excessive durations.
_QUICK_S = (0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0)
_REQUEST_S = (0.0025, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
_CALL_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)
_WORK_S = (0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1_800.0)
_DUTY_S = (0.01, 0.1, 1.0, 10.0, 60.0)
_LATE_S = (0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0)
_LAG_S = (900.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 86_400.0, 604_800.0)
_LOOP_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 200.0)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# The values of the label `status`. gone: the client disconnected before the response began. broken: the response failed
# after it had begun.
STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "gone", "broken")
# The value of the label `code` for stored error responses, which are sent again if a request is repeated. Only the body
# of a stored response contains its error code, and the body is not parsed.
REPLAYED = "replayed"

# ------------------------------------------------------------------------------------------------------------ requests

REQUEST_SECONDS = HistogramMetric(
    "svc_http_request_seconds",
    "Request duration from the end of the request headers to the end of the response. Paths that belong to neither the"
    " API nor a page have the route `other`. Status `gone`: the client disconnected before the response; `broken`: the"
    " response failed after it had begun.",
    {"method": METHODS, "route": NAMES, "status": STATUSES},
    _REQUEST_S,
)
REQUEST_ERRORS = CounterMetric(
    "svc_http_errors_total",
    "Rejected and failed requests by error code. Code `replayed`: an error sent again for a repeated Idempotency-Key.",
    {"route": NAMES, "code": (*CATALOGUE, REPLAYED)},
)
BODY_BYTES = CounterMetric(
    "svc_http_body_bytes_total",
    "Bytes of request bodies that were read, and of response bodies, excluding headers and TLS.",
    {"route": NAMES, "direction": ("received", "sent")},
)
IN_FLIGHT = GaugeMetric("svc_http_in_flight", "Requests in progress.")
CONNECTIONS = GaugeMetric("svc_http_connections", "Open client connections.")
CONNECTIONS_LIMIT = GaugeMetric("svc_http_connections_limit", "Maximum number of open client connections.")
CONNECTIONS_ENDED = CounterMetric(
    "svc_http_connections_ended_total", "Connections closed at the connection limit, so that other clients can connect."
)
MALFORMED = CounterMetric(
    "svc_http_malformed_total",
    "Requests rejected before routing because they were not valid HTTP/1.1.",
    {"status": ("400", "431", "501", "505")},
)

# -------------------------------------------------------------------------------------------------------------- pushes

PUSHES = CounterMetric(
    "svc_push_total",
    "Processed Worker pushes by outcome: `accepted` (all parts), `partial` (some parts) or `refused` (no part). A push"
    " that is rejected before its parts are read counts as an error of the route `/edge/push` instead.",
    {"outcome": ("accepted", "partial", "refused")},
)
PUSH_PARTS = CounterMetric(
    "svc_push_parts_total",
    "Parts of pushes. `early`: ahead of the service's clock, so the Worker keeps the part and sends it later.",
    {"outcome": ("accepted", "invalid", "too_old", "early")},
)
PUSH_LAG = HistogramMetric(
    "svc_push_lag_seconds", "Time from the end of the newest hour in a push to the push's arrival.", buckets=_LAG_S
)
PUSH_GROUP = HistogramMetric("svc_push_group_size", "Pushes stored in one transaction.", buckets=_SIZES)
PUSHES_WAITING = GaugeMetric("svc_push_waiting", "Pushes waiting for the previous transaction.")

# ------------------------------------------------------------------------------------------------------------ accounts

ACCOUNTS = GaugeMetric("svc_accounts", "Connected accounts by state.", {"state": get_args(AccountState)})
ACCOUNTS_BEHIND = GaugeMetric(
    "svc_accounts_behind", "Accounts that have sent at least one push and whose totals are more than two hours old."
)
ACTORS = GaugeMetric(
    "svc_actors",
    "Account actors, each of which runs the operations and recurring tasks of one account. `known`: all actors;"
    " `running`: those with a running task; `scheduled`: those whose next run is scheduled.",
    {"state": ("known", "running", "scheduled")},
)
MAILBOX_WAITING = GaugeMetric(
    "svc_mailbox_waiting", "Requests waiting in the mailboxes (request queues) of all accounts."
)
MAILBOX_DEPTH = GaugeMetric("svc_mailbox_depth", "Requests waiting in the fullest mailbox.")
MAILBOX_WAIT = HistogramMetric(
    "svc_mailbox_wait_seconds", "Time that a request waited in its account's mailbox.", buckets=_LATE_S
)
ASK_SECONDS = HistogramMetric(
    "svc_actor_ask_seconds",
    "Time that account actors spent on a request, excluding the wait in the mailbox. `failed`: an error in the"
    " service.",
    {"outcome": ("done", "refused", "failed", "cancelled")},
    _REQUEST_S,
)
DUTY_SECONDS = HistogramMetric(
    "svc_duty_seconds", "Duration of duties, which are the recurring tasks of an account.", {"duty": NAMES}, _DUTY_S
)
DUE_LATE = HistogramMetric("svc_due_late_seconds", "Delay between a duty's due time and its start.", buckets=_LATE_S)
ACTOR_CRASHES = CounterMetric(
    "svc_actor_crashes_total", "Account actors that ended with an unexpected error. The log contains each error."
)
SYNC_BEHIND = GaugeMetric("svc_sync_behind", "Accounts whose Worker does not have the newest configuration yet.")
SYNC_FAILURES = CounterMetric("svc_sync_failures_total", "Failed configuration syncs. Each is retried.")
OPERATION_SECONDS = HistogramMetric(
    "svc_operation_seconds",
    "Duration of operations that finished since the process started. For an install, this includes the wait for the"
    " Worker's first push.",
    {"kind": get_args(OperationKind), "outcome": ("done", "failed")},
    _WORK_S,
)
OPERATIONS_RUNNING = GaugeMetric("svc_operations_running", "Operations in progress.", {"kind": get_args(OperationKind)})
ROLLOUT = GaugeMetric(
    "svc_rollout_state",
    "State of the rollout of this version to all Workers: 1 for the current state, 0 for the others.",
    {"state": get_args(RolloutState)},
)
ROLLOUT_ACCOUNTS = GaugeMetric(
    "svc_rollout_accounts",
    "Accounts that this rollout has updated, or failed to update.",
    {"outcome": ("updated", "failed")},
)

# ------------------------------------------------------------------------------------------------------------ platform

CALL_SECONDS = HistogramMetric(
    "svc_platform_call_seconds",
    "Duration of each attempt to call Cloudflare's API, excluding the wait for a slot. `missing`: the object does"
    " not exist; `unavailable`: the call failed and changed nothing; `unknown`: a change got no response; `cancelled`:"
    " the caller gave up.",
    {
        "area": ("accounts", "analytics", "d1", "dns", "routes", "tokens", "workers", "zones"),
        "outcome": ("ok", "refused", "missing", "throttled", "unavailable", "unknown", "cancelled"),
    },
    _CALL_S,
)
CALL_WAIT = HistogramMetric(
    "svc_platform_wait_seconds",
    "Time that calls waited for a slot. `[edge] concurrency` sets the number of slots.",
    buckets=_CALL_S,
)
CALLS_HELD_BACK = CounterMetric(
    "svc_platform_held_back_total",
    "Calls to Cloudflare's API that were not sent. `pace`: the token has made all the calls that it may make"
    " in five minutes; `crowded`: no slot became free in time.",
    {"reason": ("pace", "crowded")},
)
CALLS_RUNNING = GaugeMetric("svc_platform_running", "Calls to Cloudflare's API in progress.")
CALLS_WAITING = GaugeMetric("svc_platform_waiting", "Calls to Cloudflare's API waiting for a slot.")

# --------------------------------------------------------------------------------------------------------------- store

STORE_UP = GaugeMetric(
    "svc_store_up",
    "1 if the store can be read and written, else 0. While the store cannot be read, metrics from the store are"
    " absent.",
)
STORE_BYTES = GaugeMetric(
    "svc_store_bytes", "Disk space of the store: the SQLite file with its log, or the PostgreSQL database."
)
BACKUP_AGE = GaugeMetric("svc_backup_age_seconds", "Age of the last successful backup. Absent before the first backup.")
STORE_COMMIT = HistogramMetric(
    "svc_store_commit_seconds",
    "Duration of write transactions. With SQLite, transactions that share a commit are measured as a group.",
    buckets=_QUICK_S,
)
STORE_READ = HistogramMetric("svc_store_read_seconds", "Duration of read transactions.", buckets=_QUICK_S)
STORE_WAIT = HistogramMetric(
    "svc_store_wait_seconds",
    "Time that a transaction waited for a thread (SQLite) or a connection (PostgreSQL).",
    {"access": ("read", "write")},
    _QUICK_S,
)
STORE_WAITING = GaugeMetric("svc_store_waiting", "Transactions waiting for a thread or connection.")
STORE_GROUP = HistogramMetric("svc_store_group_size", "Transactions in one commit (SQLite).", buckets=_SIZES)
STORE_FAILURES = CounterMetric(
    "svc_store_failures_total",
    "Failed transactions. `lost`: the store failed; `crowded`: no connection became free in time; `conflict`: the"
    " transaction conflicted with another.",
    {"reason": ("lost", "crowded", "conflict")},
)
CHORE_SECONDS = HistogramMetric(
    "svc_housekeeping_seconds", "Duration of housekeeping runs, which delete expired rows.", {"chore": NAMES}, _DUTY_S
)
CHORE_ROWS = CounterMetric("svc_housekeeping_rows_total", "Expired rows deleted.", {"chore": NAMES})

# -------------------------------------------------------------------------------------------------------------- links

TARGET_CHECKS = CounterMetric(
    "svc_link_target_checks_total",
    "Requests to the targets of links. `unclear`: the request does not show whether the target works. All"
    " results other than `works` and `unclear` are problems.",
    {"result": ("works", "unclear", *TARGET_PROBLEMS)},
)

# ---------------------------------------------------------------------------------------------------------------- mail

MAIL_WAITING = GaugeMetric("svc_mail_waiting", "Emails waiting to be sent.")
MAIL_OLDEST = GaugeMetric("svc_mail_oldest_seconds", "Age of the oldest waiting email, or 0 if no email is waiting.")
MAIL_UNTRIED = GaugeMetric(
    "svc_mail_untried_seconds",
    "Age of the oldest email that is due and that the service has not tried to send yet, or 0 if there is none. An"
    " attempt counts only if the mail server was available.",
)
MAIL_TRIES = CounterMetric(
    "svc_mail_tries_total",
    "Attempts to send an email. `no_user`: not sent, because no user needs the email; `refused`: the address was"
    " rejected, so there is no retry; `retried`: the attempt failed or its outcome is unknown, and there is a"
    " retry; `unsure`: the outcome is unknown for the second time, so there is no retry.",
    {"outcome": ("sent", "no_user", "refused", "retried", "unsure")},
)
MAIL_EXPIRED = CounterMetric("svc_mail_expired_total", "Emails that expired before they could be sent.")
MAIL_AWAY = CounterMetric("svc_mail_server_away_total", "Failed attempts to reach the mail server.")

# ------------------------------------------------------------------------------------------------------------- process

BUILD = GaugeMetric(
    "svc_build_info",
    "Always 1; the labels give the version of the service and the Worker bundle that it installs.",
    {"version": NAMES, "bundle": NAMES},
)
LOOP_LAG = HistogramMetric(
    "svc_loop_lag_seconds",
    "Event loop lag: delay of a task that is scheduled every 100 ms.",
    buckets=_LOOP_S,
)
TASKS = GaugeMetric("svc_tasks", "Trio tasks in the process.")
LOG_LINES = CounterMetric(
    "svc_log_lines_total", "Log lines at level warning or error.", {"level": ("warning", "error")}
)

# All metrics, grouped as on the dashboard.
TABLE: Mapping[str, tuple[Metric, ...]] = {
    "Requests": (
        REQUEST_SECONDS, REQUEST_ERRORS, BODY_BYTES, IN_FLIGHT, CONNECTIONS, CONNECTIONS_LIMIT, CONNECTIONS_ENDED,
        MALFORMED,
    ),
    "Pushes": (PUSHES, PUSH_PARTS, PUSH_LAG, PUSH_GROUP, PUSHES_WAITING),
    "Accounts": (
        ACCOUNTS, ACCOUNTS_BEHIND, ACTORS, MAILBOX_WAITING, MAILBOX_DEPTH, MAILBOX_WAIT, ASK_SECONDS, DUTY_SECONDS,
        DUE_LATE, ACTOR_CRASHES, SYNC_BEHIND, SYNC_FAILURES, OPERATION_SECONDS, OPERATIONS_RUNNING, ROLLOUT,
        ROLLOUT_ACCOUNTS,
    ),
    "Cloudflare API": (CALL_SECONDS, CALL_WAIT, CALLS_HELD_BACK, CALLS_RUNNING, CALLS_WAITING),
    "Store": (
        STORE_UP, STORE_BYTES, STORE_COMMIT, STORE_READ, STORE_WAIT, STORE_WAITING, STORE_GROUP, STORE_FAILURES,
        CHORE_SECONDS, CHORE_ROWS, BACKUP_AGE,
    ),
    "Links": (TARGET_CHECKS,),
    "Mail": (MAIL_WAITING, MAIL_OLDEST, MAIL_UNTRIED, MAIL_TRIES, MAIL_EXPIRED, MAIL_AWAY),
    "Process": (BUILD, LOOP_LAG, TASKS, LOG_LINES),
}  # fmt: skip


class Metrics(prometheus.registry.Collector):
    """The metrics of one service. `count` and `observe` are thread-safe."""

    def __init__(self) -> None:
        self._made = {metric: _library_metric(metric) for area in TABLE.values() for metric in area}
        self._children: dict[tuple[Metric, tuple[str, ...]], Any] = {}
        self._sizes: Counter[Metric] = Counter()
        self._known: set[Metric] = set()  # gauges with a value
        self._sources: list[Callable[[], None]] = []
        self._library = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self._library)
        prometheus.PlatformCollector(registry=self._library)
        prometheus.GCCollector(registry=self._library)

    def count(self, metric: CounterMetric, *labels: str, by: int = 1) -> None:
        """Add `by` to a counter."""
        self._child(metric, labels).inc(by)

    def observe(self, metric: HistogramMetric, value: float, *labels: str) -> None:
        """Add an observation to a histogram. The metric's name contains the unit."""
        self._child(metric, labels).observe(value)

    def set(self, metric: GaugeMetric, value: float, *labels: str) -> None:
        """Set a gauge. Call this from the Trio thread."""
        self._known.add(metric)
        self._child(metric, labels).set(value)

    def forget(self, *metrics: GaugeMetric) -> None:
        """Omit these gauges until they are set again, because their values are unknown.

        Call this from the Trio thread.
        """
        for metric in metrics:
            self._known.discard(metric)

    def at_scrape(self, read: Callable[[], None]) -> None:
        """Register a function that sets gauges before each scrape.

        The function runs on the Trio thread, and must neither block nor raise.
        """
        self._sources.append(read)

    def read_sources(self) -> None:
        """Call all functions registered with `at_scrape`."""
        for read in self._sources:
            read()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format.

        This takes a few milliseconds, so call it in a thread, with only one call at a time.
        """
        return prometheus.generate_latest(self)

    def collect(self) -> Iterator[prometheus.Metric]:
        """Yield the metrics that have a value. The Prometheus client calls this."""
        for metric, made in self._made.items():
            if not isinstance(metric, GaugeMetric) or metric in self._known:
                yield from made.collect()
        yield from self._library.collect()

    def _child(self, metric: Metric, labels: tuple[str, ...]) -> Any:
        """Return the series of a metric with these labels.

        The series is cached, because a lookup in the library takes longer than changing the value.
        """
        child = self._children.get((metric, labels))
        return child if child is not None else self._new_child(metric, labels)

    def _new_child(self, metric: Metric, labels: tuple[str, ...]) -> Any:
        made = self._made[metric]
        if not labels:
            self._children[metric, labels] = made
            return made
        bounded = tuple(
            value if not values or value in values else OTHER
            for value, values in zip(labels, metric.labels.values(), strict=True)
        )
        if self._sizes[metric] >= MAX_CHILDREN:
            bounded = tuple(
                value if values else OTHER for value, values in zip(bounded, metric.labels.values(), strict=True)
            )
        if bounded != labels:  # do not cache replaced labels, because their number is unlimited
            return made.labels(*bounded)
        self._sizes[metric] += 1
        child = self._children[metric, labels] = made.labels(*labels)
        return child


def _library_metric(metric: Metric) -> Any:
    """Return the Prometheus client's metric. If all labels of a counter have fixed values, all its series start at 0.

    Otherwise, the first failure would create the series with the value 1, and `rate()` in Prometheus would not show
    that failure.
    """
    names = tuple(metric.labels)
    if isinstance(metric, HistogramMetric):
        return prometheus.Histogram(metric.name, metric.help, names, buckets=metric.buckets, registry=None)
    kind = prometheus.Counter if isinstance(metric, CounterMetric) else prometheus.Gauge
    made = kind(metric.name, metric.help, names, registry=None)
    if isinstance(metric, CounterMetric) and names and all(metric.labels.values()):
        for values in product(*metric.labels.values()):
            made.labels(*values)
    return made


class _LogLines(logging.Handler):
    """A log handler that only counts records of level WARNING and above."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.WARNING)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        self._metrics.count(LOG_LINES, "error" if record.levelno >= logging.ERROR else "warning")


@contextmanager
def counting_log_lines(metrics: Metrics) -> Iterator[None]:
    """Count the warnings and errors that the whole process logs while the block runs."""
    handler = _LogLines(metrics)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


async def watch_loop(metrics: Metrics) -> None:
    """Measure the event loop's lag every 100 ms until cancelled."""
    while True:
        due_at = trio.current_time() + _LOOP_EVERY_S
        await trio.sleep_until(due_at)
        metrics.observe(LOOP_LAG, trio.current_time() - due_at)
