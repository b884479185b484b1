"""The kinds of findings of a health check, each with its facts for programs and its words.

The words of a kind are templates over its facts. The web application has its German for the same kinds and facts:
`svc/web/wire.py` hands it their names, and a test of it compares them.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# `other`: none of these; its words are written where it is found, and it has no facts.
FindingKind = Literal[
    "script_deleted",
    "script_replaced",
    "script_changed",
    "script_not_known",
    "script_not_installed",
    "bindings_differ",
    "cron_changed",
    "cron_deleted",
    "workers_dev_on",
    "database_deleted",
    "tables_deleted",
    "configuration_newer",
    "configuration_older",
    "configuration_differs",
    "reports_stopped",
    "reports_lost",
    "route_not_made",
    "route_deleted",
    "route_taken",
    "route_gone",
    "record_not_proxied",
    "zone_inactive",
    "token_missing",
    "token_expired",
    "token_inactive",
    "right_missing",
    "connect_cut_short",
    "connect_waits",
    "operation_running",
    "other",
]
# What a finding is about.
Subject = Literal[
    "token",
    "script",
    "workers_dev",
    "cron",
    "database",
    "configuration",
    "reports",
    "route",
    "routes",
    "record",
    "records",
    "zone",
    "some_zone",
    "connect",
    "operation",
]
# The second form of `found` that two kinds have. unexplained: no error says why. rows: only rows are missing.
Variant = Literal["", "unexplained", "rows"]


class Words(NamedTuple):
    """The words of a kind, as templates: `expected` and `found` are verbs with what belongs to them."""

    subject: Subject
    expected: str
    found: str
    variants: Mapping[Variant, str] = {}


THINGS: Mapping[Subject, str] = {
    "token": "the working token",
    "script": "the worker {worker}",
    "workers_dev": "the worker's address on workers.dev",
    "cron": "the worker's cron trigger",
    "database": "the database {database}",
    "configuration": "the worker's configuration",
    "reports": "the worker's reports",
    "route": "the route {route}",
    "routes": "the routes",
    "record": "the DNS record of {host}",
    "records": "the DNS records",
    "zone": "the zone {zone}",
    "some_zone": "the zone",
    "connect": "the connect",
    "operation": "the operation {operation}",
}
# Names that templates may contain besides the facts: they are the same in each account.
_NOT_FACTS = frozenset({"worker", "database"})

_INSTALLED = "is installed"
_AS_UPLOADED = "is as the service uploaded it"
_AS_KNOWN = "is what the service has"
_HOURLY = "come every hour"
_ENDED = "has ended"
TO_WORKER = "leads to the worker {worker}"
_DELETED = "was deleted outside the service"
_NOT_REPORTED = "which were deleted outside the service: what was counted there and not reported is lost"

WORDS: Mapping[FindingKind, Words] = {
    "script_deleted": Words("script", _INSTALLED, _DELETED),
    "script_replaced": Words(
        "script",
        _AS_UPLOADED,
        "does not carry the service's tag: it was replaced outside the service, or lost its tags",
    ),
    "script_changed": Words("script", _AS_UPLOADED, "was changed outside the service"),
    "script_not_known": Words(
        "script", _AS_UPLOADED, "was uploaded by the service at a time of which its store knows nothing"
    ),
    "script_not_installed": Words("script", _INSTALLED, "is not installed: {said}"),
    "bindings_differ": Words(
        "script", "has the bindings of its upload", "differs from what was uploaded in its bindings: {bindings}"
    ),
    "cron_changed": Words("cron", "is {cron}", "is set to {found}"),
    "cron_deleted": Words("cron", "is {cron}", _DELETED),
    "workers_dev_on": Words("workers_dev", "is off", "was switched on outside the service"),
    "database_deleted": Words("database", "is there", _DELETED),
    "tables_deleted": Words(
        "database",
        "has the tables of schema {schema}",
        f"lacks the tables {{tables}}, {_NOT_REPORTED}",
        {"rows": f"lacks rows of its table {{tables}}, {_NOT_REPORTED}"},
    ),
    "configuration_newer": Words("configuration", _AS_KNOWN, "is newer than the service's store, which lost commits"),
    "configuration_older": Words(
        "configuration",
        _AS_KNOWN,
        "is back at version {version} of {given}: the database was brought back to an earlier state outside the"
        " service, and what was counted since and not reported is lost",
    ),
    "configuration_differs": Words(
        "configuration",
        _AS_KNOWN,
        "has other rows than it was given ({rows} rows of {given}): some were deleted or changed outside the service",
    ),
    "reports_stopped": Words("reports", _HOURLY, "stopped: the edge platform has run no cron of it since {since}"),
    "reports_lost": Words("reports", _HOURLY, "have not reached the service since {since}, though its crons run"),
    "route_not_made": Words("route", "is made", "is not made: {said}", {"unexplained": "is not made yet"}),
    "route_deleted": Words("route", TO_WORKER, _DELETED),
    "route_taken": Words("route", TO_WORKER, "is held by {holder}"),
    "route_gone": Words("route", TO_WORKER, "has gone with its zone, which left the account"),
    "record_not_proxied": Words("record", "is proxied", "is missing or not proxied (a grey cloud)"),
    "zone_inactive": Words("zone", "is active", "is {status}"),
    "token_missing": Words("token", "is there", "is missing"),
    "token_expired": Words("token", "is valid", "has expired on {at}"),
    "token_inactive": Words("token", "is active", "is {status}"),
    "right_missing": Words(
        "token", "has the right {right}", "lacks the right {right}, or not all of its resources: {said}"
    ),
    "connect_cut_short": Words("connect", _ENDED, "was cut short"),
    "connect_waits": Words("connect", _ENDED, "waits for the same request once more"),
    "operation_running": Words("operation", _ENDED, "is at the step {step}"),
}


def names_in(template: str) -> frozenset[str]:
    """The names of the facts that a template contains."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name) - _NOT_FACTS


def fact_names(kind: FindingKind) -> list[str]:
    """The names of the facts in the words of a kind; none for `other`."""
    words = WORDS.get(kind)
    if words is None:
        return []
    templates = (THINGS[words.subject], words.expected, words.found, *words.variants.values())
    return sorted(frozenset[str]().union(*map(names_in, templates)))
