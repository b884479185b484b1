"""Every metric of the service: the one table of them, and the one way in which the rooms report.

A room is handed the process's `Metrics`, as it is handed the clock, and calls

    metrics.count(SYNC_FAILURES)
    metrics.observe(CALL_SECONDS, took_s, "d1", "ok")

What is a state and no event is not reported but asked for when somebody scrapes (`at_scrape`), and costs nothing else.
From the table come docs/metrics.md and the dashboard (tools/dashboard.py).

Labels are bounded by construction: each label says which values it may have, anything else is `other`; where the values
are names that the program itself gives (a route's template, a duty), no metric gets more than `MOST_CHILDREN` of them.
No label holds a user, an account, a host, a code or an address.
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
from svc.model import AccountState, OperationKind, RolloutState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# When each series began is of no use to whoever scrapes it, and doubles their number.
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]

# How often the loop's lag is looked at.
_LOOP_EVERY_S = 0.1
# What a label says that is none of its values.
OTHER = "other"
# Of one metric; the contract has some 60 routes, of which each is answered with a few statuses.
MOST_CHILDREN = 600
# Of a label: names that the program gives, as many as it has.
NAMES: tuple[str, ...] = ()

CONTENT_TYPE = prometheus.CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric: its name, what it tells, and of each label the values that it may have (`NAMES`: see there)."""

    name: str
    help: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CounterMetric(Metric):
    """Only grows, from 0 at the start of the process."""


@dataclass(frozen=True, eq=False)
class GaugeMetric(Metric):
    """How much there is now."""


@dataclass(frozen=True, eq=False)
class HistogramMetric(Metric):
    """How many were at most so large, their number and their sum. `buckets`: the bounds, in the unit of the name."""

    buckets: tuple[float, ...] = ()


# The bounds are where answers to questions lie: was it as quick as always, did anybody notice, did it time out?
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
# Of an answer; the client left before it began; it was broken off in the middle, because what made it failed.
STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "gone", "broken")
# What a repeated request is told that was refused before: the refusal is kept, its code is in the body alone.
REPLAYED = "replayed"

# ------------------------------------------------------------------------------------------------------------ requests

REQUEST_SECONDS = HistogramMetric(
    "svc_http_request_seconds",
    "Requests, from their head to the end of their answer. A path that is neither the"
    " API's nor a page's is the route `other`."
    " `gone`: the client left before the answer; `broken`: an answer that failed half-way.",
    {"method": METHODS, "route": NAMES, "status": STATUSES},
    _REQUEST_S,
)
REQUEST_ERRORS = CounterMetric(
    "svc_http_errors_total",
    "Refused and failed requests by the code of the error. `replayed`: an earlier refusal, sent again for its"
    " Idempotency-Key.",
    {"route": NAMES, "code": (*CATALOGUE, REPLAYED)},
)
BODY_BYTES = CounterMetric(
    "svc_http_body_bytes_total",
    "Bytes of bodies: of requests, as far as they were read, and of answers. Without heads and TLS.",
    {"route": NAMES, "direction": ("received", "sent")},
)
IN_FLIGHT = GaugeMetric("svc_http_in_flight", "Requests under way.")
CONNECTIONS = GaugeMetric("svc_http_connections", "Open connections of clients.")
CONNECTIONS_LIMIT = GaugeMetric("svc_http_connections_limit", "How many connections may be open at once.")
CONNECTIONS_ENDED = CounterMetric(
    "svc_http_connections_ended_total", "Connections ended because another client needed the last place."
)
MALFORMED = CounterMetric(
    "svc_http_malformed_total",
    "What was no request in HTTP/1.1, and was refused before any route.",
    {"status": ("400", "431", "501", "505")},
)

# -------------------------------------------------------------------------------------------------------------- pushes

PUSHES = CounterMetric(
    "svc_push_total",
    "Pushes of workers that were taken in: all of their parts, some, none. Those that were refused as a whole are"
    " among the errors of `/edge/push`.",
    {"outcome": ("accepted", "partial", "refused")},
)
PUSH_PARTS = CounterMetric(
    "svc_push_parts_total",
    "Parts of pushes. `early`: ahead of our clock, and left to the worker until it is time.",
    {"outcome": ("accepted", "invalid", "too_old", "early")},
)
PUSH_LAG = HistogramMetric(
    "svc_push_lag_seconds", "From the end of the newest hour that a push brings to its arrival.", buckets=_LAG_S
)
PUSH_GROUP = HistogramMetric("svc_push_group_size", "Pushes that were stored in one transaction.", buckets=_SIZES)
PUSHES_WAITING = GaugeMetric("svc_push_waiting", "Pushes that wait for the transaction before theirs.")

# ------------------------------------------------------------------------------------------------------------ accounts

ACCOUNTS = GaugeMetric("svc_accounts", "Connected accounts by state.", {"state": get_args(AccountState)})
ACCOUNTS_BEHIND = GaugeMetric(
    "svc_accounts_behind", "Accounts that have pushed before, and whose totals are older than two hours."
)
ACTORS = GaugeMetric(
    "svc_actors",
    "Accounts that the supervisor knows, that have a task now, that have a due time.",
    {"state": ("known", "running", "scheduled")},
)
MAILBOX_WAITING = GaugeMetric("svc_mailbox_waiting", "Requests that wait for an account's task, of all accounts.")
MAILBOX_DEPTH = GaugeMetric("svc_mailbox_depth", "The same of the account that has most.")
MAILBOX_WAIT = HistogramMetric(
    "svc_mailbox_wait_seconds", "How long a request waited for its account's task.", buckets=_LATE_S
)
ASK_SECONDS = HistogramMetric(
    "svc_actor_ask_seconds",
    "What accounts' tasks did for requests, without the wait. `failed`: a fault of the service.",
    {"outcome": ("done", "refused", "failed", "cancelled")},
    _REQUEST_S,
)
DUTY_SECONDS = HistogramMetric("svc_duty_seconds", "What accounts do by themselves, by duty.", {"duty": NAMES}, _DUTY_S)
DUE_LATE = HistogramMetric("svc_due_late_seconds", "How late an account's task began what was due.", buckets=_LATE_S)
ACTOR_CRASHES = CounterMetric("svc_actor_crashes_total", "Accounts' tasks that ended by a fault; each is in the log.")
SYNC_BEHIND = GaugeMetric("svc_sync_behind", "Accounts whose worker lacks something of its configuration.")
SYNC_FAILURES = CounterMetric("svc_sync_failures_total", "Writes of a configuration that failed, and are tried again.")
OPERATION_SECONDS = HistogramMetric(
    "svc_operation_seconds",
    "Operations that ended since the start, from their begin to their end. Of an install the wait for the worker's"
    " first push is a part.",
    {"kind": get_args(OperationKind), "outcome": ("done", "failed")},
    _WORK_S,
)
OPERATIONS_RUNNING = GaugeMetric("svc_operations_running", "Operations under way.", {"kind": get_args(OperationKind)})
ROLLOUT = GaugeMetric(
    "svc_rollout_state",
    "1 for the state of the update of all workers to this version.",
    {"state": get_args(RolloutState)},
)
ROLLOUT_ACCOUNTS = GaugeMetric(
    "svc_rollout_accounts", "Accounts that this update has reached.", {"outcome": ("updated", "failed")}
)

# ------------------------------------------------------------------------------------------------------------ platform

CALL_SECONDS = HistogramMetric(
    "svc_platform_call_seconds",
    "Calls sent to the edge platform, each try by itself, without the wait for a place. `missing`: what was asked for"
    " is not there; `unavailable`: it failed, nothing was done; `unknown`: no answer to a change; `cancelled`: whoever"
    " asked has gone.",
    {
        "area": ("accounts", "analytics", "d1", "dns", "routes", "tokens", "workers", "zones"),
        "outcome": ("ok", "refused", "missing", "throttled", "unavailable", "unknown", "cancelled"),
    },
    _CALL_S,
)
CALL_WAIT = HistogramMetric("svc_platform_wait_seconds", "How long calls waited for a place.", buckets=_CALL_S)
CALLS_HELD_BACK = CounterMetric(
    "svc_platform_held_back_total",
    "Calls that were not sent. `pace`: the token's calls of five minutes are used up; `crowded`: no place came free.",
    {"reason": ("pace", "crowded")},
)
CALLS_RUNNING = GaugeMetric("svc_platform_running", "Calls to the edge platform under way.")
CALLS_WAITING = GaugeMetric("svc_platform_waiting", "Calls that wait for a place.")

# --------------------------------------------------------------------------------------------------------------- store

STORE_UP = GaugeMetric(
    "svc_store_up", "1 while the store can be read and written. Without it what it tells is left out."
)
STORE_BYTES = GaugeMetric(
    "svc_store_bytes", "What the store takes on its disk: SQLite's file with its log, the database of PostgreSQL."
)
BACKUP_AGE = GaugeMetric(
    "svc_backup_age_seconds", "How long ago the last good backup was made; left out before the first."
)
STORE_COMMIT = HistogramMetric(
    "svc_store_commit_seconds", "Commits with what was written in them; on SQLite one is for a group.", buckets=_QUICK_S
)
STORE_READ = HistogramMetric("svc_store_read_seconds", "Reads of a snapshot.", buckets=_QUICK_S)
STORE_WAIT = HistogramMetric(
    "svc_store_wait_seconds",
    "How long a transaction waited: on SQLite for a thread, on PostgreSQL for a connection.",
    {"access": ("read", "write")},
    _QUICK_S,
)
STORE_WAITING = GaugeMetric("svc_store_waiting", "Transactions that wait.")
STORE_GROUP = HistogramMetric("svc_store_group_size", "Transactions in one commit (SQLite).", buckets=_SIZES)
STORE_FAILURES = CounterMetric(
    "svc_store_failures_total",
    "Transactions that the store did not do. `lost`: it failed; `crowded`: no connection came free; `conflict`: another"
    " change was in the way.",
    {"reason": ("lost", "crowded", "conflict")},
)
CHORE_SECONDS = HistogramMetric(
    "svc_housekeeping_seconds", "Looks for rows whose time is over.", {"chore": NAMES}, _DUTY_S
)
CHORE_ROWS = CounterMetric(
    "svc_housekeeping_rows_total", "Rows that were deleted because their time was over.", {"chore": NAMES}
)

# ---------------------------------------------------------------------------------------------------------------- mail

MAIL_WAITING = GaugeMetric("svc_mail_waiting", "E-mails that wait to be sent.")
MAIL_OLDEST = GaugeMetric("svc_mail_oldest_seconds", "How long the oldest of them has waited; 0 without any.")
MAIL_TRIES = CounterMetric(
    "svc_mail_tries_total",
    "What became of tries to send an e-mail. `nobody`: made and not sent, for an address that has no user; `refused`:"
    " the address is, and the e-mail ends; `retried`: not taken, or nobody knows, and tried again; `unsure`: nobody"
    " knows, and it ends with this copy.",
    {"outcome": ("sent", "nobody", "refused", "retried", "unsure")},
)
MAIL_EXPIRED = CounterMetric(
    "svc_mail_expired_total", "E-mails that were given up unsent, because they are of no use any more."
)
MAIL_AWAY = CounterMetric("svc_mail_server_away_total", "How often the mail server was found away.")

# ------------------------------------------------------------------------------------------------------------- process

BUILD = GaugeMetric(
    "svc_build_info", "1; the version of the service and the worker it installs.", {"version": NAMES, "bundle": NAMES}
)
LOOP_LAG = HistogramMetric(
    "svc_loop_lag_seconds",
    "How late a task runs that asks to be run every 100 ms: what everybody waits.",
    buckets=_LOOP_S,
)
TASKS = GaugeMetric("svc_tasks", "Tasks that the process has.")
LOG_LINES = CounterMetric(
    "svc_log_lines_total", "Lines of the log that an operator should see.", {"level": ("warning", "error")}
)

# The table, by what a dashboard shows together.
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
    "Edge platform": (CALL_SECONDS, CALL_WAIT, CALLS_HELD_BACK, CALLS_RUNNING, CALLS_WAITING),
    "Store": (
        STORE_UP, STORE_BYTES, STORE_COMMIT, STORE_READ, STORE_WAIT, STORE_WAITING, STORE_GROUP, STORE_FAILURES,
        CHORE_SECONDS, CHORE_ROWS, BACKUP_AGE,
    ),
    "Mail": (MAIL_WAITING, MAIL_OLDEST, MAIL_TRIES, MAIL_EXPIRED, MAIL_AWAY),
    "Process": (BUILD, LOOP_LAG, TASKS, LOG_LINES),
}  # fmt: skip


class Metrics(prometheus.registry.Collector):
    """The metrics of one process, or of one service of several in a process. May be reported to from any thread."""

    def __init__(self) -> None:
        self._made = {metric: _made(metric) for area in TABLE.values() for metric in area}
        self._children: dict[tuple[Metric, tuple[str, ...]], Any] = {}
        self._sizes: Counter[Metric] = Counter()
        self._known: set[Metric] = set()  # of the gauges
        self._sources: list[Callable[[], None]] = []
        self._library = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self._library)
        prometheus.PlatformCollector(registry=self._library)
        prometheus.GCCollector(registry=self._library)

    def count(self, metric: CounterMetric, *labels: str, by: int = 1) -> None:
        """So many more of it."""
        self._child(metric, labels).inc(by)

    def observe(self, metric: HistogramMetric, value: float, *labels: str) -> None:
        """One more, of this size."""
        self._child(metric, labels).observe(value)

    def set(self, metric: GaugeMetric, value: float, *labels: str) -> None:
        """It is so much now. From Trio's thread."""
        self._known.add(metric)
        self._child(metric, labels).set(value)

    def forget(self, *metrics: GaugeMetric) -> None:
        """Leave these out of the text until they are set again: how much there is is not known. From Trio's thread."""
        for metric in metrics:
            self._known.discard(metric)

    def at_scrape(self, read: Callable[[], None]) -> None:
        """Let `read` be called on Trio's thread before each text; it sets gauges, and neither waits nor fails."""
        self._sources.append(read)

    def read_sources(self) -> None:
        """Ask for everything that is known only when it is asked for."""
        for read in self._sources:
            read()

    def text(self) -> bytes:
        """Everything in Prometheus' text format. Takes some ms: it is made in a thread, one at a time."""
        return prometheus.generate_latest(self)

    def collect(self) -> Iterator[prometheus.Metric]:
        """For the library, which calls it by this name."""
        for metric, made in self._made.items():
            if not isinstance(metric, GaugeMetric) or metric in self._known:
                yield from made.collect()
        yield from self._library.collect()

    def _child(self, metric: Metric, labels: tuple[str, ...]) -> Any:
        """What is reported to; made at the first time, as looking it up in the library takes longer than a report."""
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
        if self._sizes[metric] >= MOST_CHILDREN:
            bounded = (OTHER,) * len(labels)
        if bounded != labels:  # what is not kept under its own name takes no memory
            return made.labels(*bounded)
        self._sizes[metric] += 1
        child = self._children[metric, labels] = made.labels(*labels)
        return child


def _made(metric: Metric) -> Any:
    """The library's metric; where all values of its labels are known and few, with each of them, at 0.

    A series that appears only with its first failure has no rate that shows it.
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
    """Counts the lines of the log from WARNING on, and shows none."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.WARNING)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        self._metrics.count(LOG_LINES, "error" if record.levelno >= logging.ERROR else "warning")


@contextmanager
def counting_log_lines(metrics: Metrics) -> Iterator[None]:
    """Count the lines of the whole process's log while the block runs."""
    handler = _LogLines(metrics)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


async def watch_loop(metrics: Metrics) -> None:
    """Tell how late this task runs, again and again, for ever: no task is served sooner."""
    while True:
        due_at = trio.current_time() + _LOOP_EVERY_S
        await trio.sleep_until(due_at)
        metrics.observe(LOOP_LAG, trio.current_time() - due_at)
