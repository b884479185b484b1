"""The words of a finding: those of each kind, filled with the facts that a health check gives it."""

from __future__ import annotations

from typing import get_args

import pytest

from svc.actors.checks.findings import TO_WORKER, Finding, refused, unknown
from svc.errors import EdgeRefused, EdgeUnavailable
from svc.finding import WORDS, FindingKind, Variant, fact_names

AT = "2026-11-21T10:00:00Z"
ROUTE = "shop.example/ab3/x9k*"
WORKER, DATABASE, TOKEN = "the worker svc-edge", "the database svc-edge", "the working token"
CONFIGURATION, REPORTS = "the worker's configuration", "the worker's reports"
AS_UPLOADED = "is as the service uploaded it"
AS_KNOWN = "is what the service has"
BACK = (
    "is back at version 3 of 7: the database was brought back to an earlier state outside the service, and what was"
    " counted since and not reported is lost"
)
LOST = "which were deleted outside the service: what was counted there and not reported is lost"

Row = tuple[FindingKind, dict[str, str], tuple[str, str, str]]

# The words are part of the API, where programs may compare them.
ROWS: list[Row] = [
    ("script_deleted", {}, (WORKER, "is installed", "was deleted outside the service")),
    (
        "script_replaced",
        {},
        (
            WORKER,
            AS_UPLOADED,
            "does not carry the service's tag: it was replaced outside the service, or lost its tags",
        ),
    ),
    ("script_changed", {}, (WORKER, AS_UPLOADED, "was changed outside the service")),
    (
        "script_not_known",
        {},
        (WORKER, AS_UPLOADED, "was uploaded by the service at a time of which its store knows nothing"),
    ),
    (
        "script_not_installed",
        {"said": "The worker is not installed"},
        (WORKER, "is installed", "is not installed: The worker is not installed"),
    ),
    (
        "bindings_differ",
        {"bindings": "DB, INSTALL"},
        (WORKER, "has the bindings of its upload", "differs from what was uploaded in its bindings: DB, INSTALL"),
    ),
    (
        "cron_changed",
        {"cron": "* * * * *", "found": "5 * * * *"},
        ("the worker's cron trigger", "is * * * * *", "is set to 5 * * * *"),
    ),
    (
        "cron_deleted",
        {"cron": "* * * * *", "found": ""},
        ("the worker's cron trigger", "is * * * * *", "was deleted outside the service"),
    ),
    ("workers_dev_on", {}, ("the worker's address on workers.dev", "is off", "was switched on outside the service")),
    ("database_deleted", {}, (DATABASE, "is there", "was deleted outside the service")),
    (
        "tables_deleted",
        {"schema": "2", "tables": "day, hour"},
        (DATABASE, "has the tables of schema 2", f"lacks the tables day, hour, {LOST}"),
    ),
    (
        "configuration_newer",
        {},
        (CONFIGURATION, AS_KNOWN, "is newer than the service's store, which lost commits"),
    ),
    (
        "configuration_older",
        {"version": "3", "given": "7"},
        (CONFIGURATION, AS_KNOWN, BACK),
    ),
    (
        "configuration_differs",
        {"rows": "3", "given": "7"},
        (
            CONFIGURATION,
            AS_KNOWN,
            "has other rows than it was given (3 rows of 7): some were deleted or changed outside the service",
        ),
    ),
    (
        "reports_stopped",
        {"since": AT},
        (REPORTS, "come every hour", f"stopped: the edge platform has run no cron of it since {AT}"),
    ),
    (
        "reports_lost",
        {"since": AT},
        (REPORTS, "come every hour", f"have not reached the service since {AT}, though its crons run"),
    ),
    (
        "route_not_made",
        {"route": ROUTE, "said": "The zone is gone."},
        (f"the route {ROUTE}", "is made", "is not made: The zone is gone"),
    ),
    (
        "route_deleted",
        {"route": ROUTE},
        (f"the route {ROUTE}", "leads to the worker svc-edge", "was deleted outside the service"),
    ),
    (
        "route_taken",
        {"route": ROUTE, "holder": "the worker {x}"},
        (f"the route {ROUTE}", "leads to the worker svc-edge", "is held by the worker {x}"),
    ),
    (
        "route_gone",
        {"route": ROUTE},
        (f"the route {ROUTE}", "leads to the worker svc-edge", "has gone with its zone, which left the account"),
    ),
    (
        "record_not_proxied",
        {"host": "go.example"},
        ("the DNS record of go.example", "is proxied", "is missing or not proxied (a grey cloud)"),
    ),
    ("zone_inactive", {"zone": "a.example", "status": "moved"}, ("the zone a.example", "is active", "is moved")),
    ("token_missing", {}, (TOKEN, "is there", "is missing")),
    ("token_expired", {"at": AT}, (TOKEN, "is valid", f"has expired on {AT}")),
    ("token_inactive", {"status": "disabled"}, (TOKEN, "is active", "is disabled")),
    (
        "right_missing",
        {"right": "D1: Edit", "said": "Authentication error."},
        (
            TOKEN,
            "has the right D1: Edit",
            "lacks the right D1: Edit, or not all of its resources: Authentication error",
        ),
    ),
    ("connect_cut_short", {}, ("the connect", "has ended", "was cut short")),
    ("connect_waits", {}, ("the connect", "has ended", "waits for the same request once more")),
    (
        "operation_running",
        {"operation": "install", "step": "script"},
        ("the operation install", "has ended", "is at the step script"),
    ),
]


def words_of(finding: Finding) -> tuple[str, str, str]:
    return finding.thing, finding.expected, finding.found


@pytest.mark.parametrize(("kind", "facts", "words"), ROWS, ids=[kind for kind, _, _ in ROWS])
def test_each_kind_has_its_words(kind, facts, words):
    assert words_of(Finding(kind, "resource_drift", facts)) == words
    given = {"found"} if kind == "cron_deleted" else set()  # a fact that both kinds of cron have
    assert set(fact_names(kind)) == facts.keys() - given


def test_every_kind_but_other_is_in_the_table():
    kinds = [kind for kind in get_args(FindingKind) if kind != "other"]
    assert [kind for kind, _, _ in ROWS] == kinds
    assert list(WORDS) == kinds
    assert fact_names("other") == []


@pytest.mark.parametrize(
    ("kind", "facts", "variant", "found"),
    [
        ("route_not_made", {"route": ROUTE, "said": ""}, "unexplained", "is not made yet"),
        ("tables_deleted", {"schema": "2", "tables": "meta"}, "rows", f"lacks rows of its table meta, {LOST}"),
    ],
)
def test_a_variant_changes_only_what_is_found(kind: FindingKind, facts: dict[str, str], variant: Variant, found: str):
    plain, other = (Finding(kind, "resource_drift", facts, variant=one) for one in ("", variant))
    assert words_of(other) == (plain.thing, plain.expected, found)


def test_findings_of_other_kinds_keep_their_own_words():
    error = EdgeRefused("cloudflare_error", "Bad {thing}.", remote_code=7003)
    finding = refused("routes", TO_WORKER, error, "Workers Routes: Edit")
    assert words_of(finding) == ("the routes", "leads to the worker svc-edge", "cannot be looked at: Bad {thing}")
    assert (finding.kind, finding.facts, finding.details) == ("other", {}, {"edge_code": 7003})
    finding = refused("script", "is installed", EdgeRefused("token_refused", "No."))
    assert words_of(finding) == (TOKEN, "is accepted", "is refused: No")
    finding = unknown("some_zone", "is active", EdgeUnavailable("Away."))
    assert words_of(finding) == ("the zone", "is active", "cannot be looked at now: Away")


def test_findings_of_one_thing_are_about_the_same():
    first, second = (Finding("route_deleted", "resource_drift", {"route": route}) for route in ("a/*", "b/*"))
    held = Finding("route_taken", "route_conflict", {"route": "a/*", "holder": "the worker x"})
    assert first.about == held.about
    assert first.about != second.about
