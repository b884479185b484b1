"""The kinds of health check findings, with their facts (for API clients) and their texts (for people).

The texts for a kind are templates, whose placeholders are the names of facts. The English templates are here; the
German templates are in `german/findings.py`.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# `other`: a finding without a template. The check writes the text itself, and the finding has no facts.
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
    "link_host_not_resolved",
    "link_host_private",
    "link_host_bypassed",
    "link_host_not_connected",
    "link_host_not_http",
    "link_host_certificate",
    "link_host_redirected",
    "link_host_challenged",
    "link_host_other_answer",
    "link_host_unchecked",
    "other",
]
# The resource or process that a finding is about.
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
    "link_host",
]
# Alternative texts for `found`. `unexplained`: the cause is not known. `rows`: the tables exist, but rows are missing.
Variant = Literal["", "unexplained", "rows"]


class Words(NamedTuple):
    """Templates for a kind of finding. `expected` and `found` are predicates for the subject, such as "is active"."""

    subject: Subject
    expected: str
    found: str
    variants: Mapping[Variant, str] = {}


class Phrases(NamedTuple):
    """The texts of all findings in one language.

    `refused`: a template that adds the reason for a refused repair to `found`.
    """

    things: Mapping[Subject, str]
    words: Mapping[FindingKind, Words]
    refused: str


THINGS: Mapping[Subject, str] = {
    "token": "the working token",
    "script": "the Worker {worker}",
    "workers_dev": "the Worker's address on workers.dev",
    "cron": "the Worker's cron trigger",
    "database": "the database {database}",
    "configuration": "the Worker's configuration",
    "reports": "the Worker's reports",
    "route": "the route {route}",
    "routes": "the routes",
    "record": "the DNS record of {host}",
    "records": "the DNS records",
    "zone": "the zone {zone}",
    "some_zone": "the zone",
    "connect": "the connect operation",
    "operation": "the operation {operation}",
    "link_host": "the link host {host}",
}
# Placeholders in templates that are not the names of facts, because their values are the same for all accounts.
_NOT_FACTS = frozenset({"worker", "database"})
# Facts that are times (ISO 8601).
MOMENTS = ("since", "at")

_INSTALLED = "is installed"
_AS_UPLOADED = "is unchanged since the service uploaded it"
_AS_STORED = "matches the service's store"
_HOURLY = "arrive every hour"
_FINISHED = "has finished"
_SERVED = "shows visitors the Worker's response"
TO_WORKER = "points to the Worker {worker}"
_DELETED = "was deleted outside the service"
_NOT_REPORTED = "which were deleted outside the service; their unreported counts are lost"

WORDS: Mapping[FindingKind, Words] = {
    "script_deleted": Words("script", _INSTALLED, _DELETED),
    "script_replaced": Words(
        "script",
        _AS_UPLOADED,
        "does not have the service's tag: the Worker was replaced or its tags were removed outside the service",
    ),
    "script_changed": Words("script", _AS_UPLOADED, "was changed outside the service"),
    "script_not_known": Words(
        "script", _AS_UPLOADED, "was uploaded by the service, but its store has no record of the upload"
    ),
    "script_not_installed": Words("script", _INSTALLED, "is not installed: {said}"),
    "bindings_differ": Words(
        "script", "has the bindings that the service uploaded", "has different bindings: {bindings}"
    ),
    "cron_changed": Words("cron", "is {cron}", "is set to {found}"),
    "cron_deleted": Words("cron", "is {cron}", _DELETED),
    "workers_dev_on": Words("workers_dev", "is off", "was switched on outside the service"),
    "database_deleted": Words("database", "exists", _DELETED),
    "tables_deleted": Words(
        "database",
        "has the tables of schema {schema}",
        f"lacks the tables {{tables}}, {_NOT_REPORTED}",
        {"rows": f"lacks rows of the table {{tables}}, {_NOT_REPORTED}"},
    ),
    "configuration_newer": Words(
        "configuration", _AS_STORED, "is newer than the configuration in the service's store, which has lost changes"
    ),
    "configuration_older": Words(
        "configuration",
        _AS_STORED,
        "is at version {version} instead of {given}: the database was restored to an earlier state outside the"
        " service, so later counts that were not yet reported are lost",
    ),
    "configuration_differs": Words(
        "configuration",
        _AS_STORED,
        "differs from the rows that the service wrote ({rows} of {given} rows exist): some rows were deleted or changed"
        " outside the service",
    ),
    "reports_stopped": Words("reports", _HOURLY, "have stopped: Cloudflare has not run the cron trigger since {since}"),
    "reports_lost": Words(
        "reports", _HOURLY, "have not reached the service since {since}, although Cloudflare runs the cron trigger"
    ),
    "route_not_made": Words(
        "route", "exists", "could not be created: {said}", {"unexplained": "has not been created yet"}
    ),
    "route_deleted": Words("route", TO_WORKER, _DELETED),
    "route_taken": Words("route", TO_WORKER, "is used by {holder}"),
    "route_gone": Words("route", TO_WORKER, "was removed with its zone, which left the account"),
    "record_not_proxied": Words("record", "is proxied", "is missing or not proxied (gray cloud)"),
    "zone_inactive": Words("zone", "is active", "is {status}"),
    "token_missing": Words("token", "exists", "is missing"),
    "token_expired": Words("token", "is valid", "expired on {at}"),
    "token_inactive": Words("token", "is active", "is {status}"),
    "right_missing": Words(
        "token", "has the permission {right}", "lacks the permission {right} for some or all resources: {said}"
    ),
    "connect_cut_short": Words("connect", _FINISHED, "was interrupted"),
    "connect_waits": Words("connect", _FINISHED, "continues when the same request is sent again"),
    "operation_running": Words("operation", _FINISHED, "is at the step {step}"),
    "link_host_not_resolved": Words("link_host", _SERVED, "has no address in public DNS"),
    "link_host_private": Words(
        "link_host", _SERVED, "has the address {address} in DNS, which visitors cannot reach because it is not public"
    ),
    "link_host_bypassed": Words("link_host", _SERVED, "responds from another server, not through Cloudflare"),
    "link_host_not_connected": Words("link_host", _SERVED, "does not accept connections"),
    "link_host_not_http": Words("link_host", _SERVED, "accepts connections but sends no HTTP response"),
    "link_host_certificate": Words("link_host", _SERVED, "has no valid certificate: {said}"),
    "link_host_redirected": Words(
        "link_host", _SERVED, "redirects visitors to {location} before the Worker receives the request"
    ),
    "link_host_challenged": Words("link_host", _SERVED, "shows a Cloudflare challenge page"),
    "link_host_other_answer": Words(
        "link_host", _SERVED, "responds with status {status}, which does not come from the Worker"
    ),
    "link_host_unchecked": Words("link_host", _SERVED, "could not be checked: {said}"),
}


ENGLISH = Phrases(THINGS, WORDS, "{found}; the repair was refused: {refusal}")


def fill(template: str, facts: Mapping[str, str]) -> str:
    """Return a template with the facts filled in. Raises KeyError if a fact is missing."""
    # Cloudflare's message ends with a full stop, which must not appear in the middle of the sentence.
    said = {"said": facts["said"].removesuffix(".")} if "said" in facts else {}
    return template.format_map({**facts, **said})


def found_text(words: Words, variant: Variant, facts: Mapping[str, str]) -> str:
    """Return the predicate of a finding's sentence: the actual state. Raises KeyError if a fact is missing."""
    return fill(words.variants.get(variant, words.found), facts)


def sentence(stored: Mapping[str, Any], phrases: Phrases, shown: Callable[[str, str], str]) -> str | None:
    """Return a stored finding (see `ErrorNote`) as a sentence, or None if this version does not know its kind or facts.

    `shown`: returns the text of a fact in the language of `phrases`, given the fact's name and value.
    """
    try:
        words = phrases.words[stored["kind"]]
        facts = {name: shown(name, value) for name, value in stored["facts"].items()}
        thing, actual = fill(phrases.things[words.subject], facts), found_text(words, stored["variant"], facts)
    except KeyError:
        return None
    if stored["refusal"]:
        actual = phrases.refused.format(found=actual, refusal=stored["refusal"])
    return f"{thing[0].upper()}{thing[1:]} {actual}."


def names_in(template: str) -> frozenset[str]:
    """Return the names of the facts that a template contains."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name) - _NOT_FACTS


def fact_names(kind: FindingKind) -> list[str]:
    """Return the sorted names of the facts that a kind's texts contain. The list is empty for `other`."""
    words = WORDS.get(kind)
    if words is None:
        return []
    templates = (THINGS[words.subject], words.expected, words.found, *words.variants.values())
    return sorted(frozenset[str]().union(*map(names_in, templates)))
