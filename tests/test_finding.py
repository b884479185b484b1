"""Tests of the texts of health check findings: each kind has one text, into which the facts are inserted."""

from __future__ import annotations

from typing import get_args

import pytest

from svc.actors.checks.findings import TO_WORKER, Finding, refused, unknown
from svc.errors import EdgeRefused, EdgeUnavailable
from svc.finding import WORDS, FindingKind, Variant, fact_names

AT = "2026-11-21T10:00:00Z"
ROUTE = "shop.example/ab3/x9k*"
WORKER, DATABASE, TOKEN = "the Worker svc-edge", "the database svc-edge", "the working token"
CONFIGURATION, REPORTS = "the Worker's configuration", "the Worker's reports"
AS_UPLOADED = "is unchanged since the service uploaded it"
AS_STORED = "matches the service's store"
RESTORED = (
    "is at version 3 instead of 7: the database was restored to an earlier state outside the service, so"
    " later counts that were not yet reported are lost"
)
LINK_HOST, SERVED, AT_HOST = "the link host go.example", "shows visitors the Worker's response", {"host": "go.example"}
LOST = "which were deleted outside the service; their unreported counts are lost"

Row = tuple[FindingKind, dict[str, str], tuple[str, str, str]]

# Findings with the texts that responses and emails must contain.
ROWS: list[Row] = [
    ("script_deleted", {}, (WORKER, "is installed", "was deleted outside the service")),
    (
        "script_replaced",
        {},
        (
            WORKER,
            AS_UPLOADED,
            "does not have the service's tag: the Worker was replaced or its tags were removed outside the service",
        ),
    ),
    ("script_changed", {}, (WORKER, AS_UPLOADED, "was changed outside the service")),
    (
        "script_not_known",
        {},
        (WORKER, AS_UPLOADED, "was uploaded by the service, but its store has no record of the upload"),
    ),
    (
        "script_not_installed",
        {"said": "The Worker is not installed"},
        (WORKER, "is installed", "is not installed: The Worker is not installed"),
    ),
    (
        "bindings_differ",
        {"bindings": "DB, INSTALL"},
        (WORKER, "has the bindings that the service uploaded", "has different bindings: DB, INSTALL"),
    ),
    (
        "cron_changed",
        {"cron": "* * * * *", "found": "5 * * * *"},
        ("the Worker's cron trigger", "is * * * * *", "is set to 5 * * * *"),
    ),
    (
        "cron_deleted",
        {"cron": "* * * * *", "found": ""},
        ("the Worker's cron trigger", "is * * * * *", "was deleted outside the service"),
    ),
    ("workers_dev_on", {}, ("the Worker's address on workers.dev", "is off", "was switched on outside the service")),
    ("database_deleted", {}, (DATABASE, "exists", "was deleted outside the service")),
    (
        "tables_deleted",
        {"schema": "2", "tables": "day, hour"},
        (DATABASE, "has the tables of schema 2", f"lacks the tables day, hour, {LOST}"),
    ),
    (
        "configuration_newer",
        {},
        (
            CONFIGURATION,
            AS_STORED,
            "is newer than the configuration in the service's store, which has lost changes",
        ),
    ),
    (
        "configuration_older",
        {"version": "3", "given": "7"},
        (CONFIGURATION, AS_STORED, RESTORED),
    ),
    (
        "configuration_differs",
        {"rows": "3", "given": "7"},
        (
            CONFIGURATION,
            AS_STORED,
            (
                "differs from the rows that the service wrote (3 of 7 rows exist): some rows were deleted or changed"
                " outside the service"
            ),
        ),
    ),
    (
        "reports_stopped",
        {"since": AT},
        (REPORTS, "arrive every hour", f"have stopped: Cloudflare has not run the cron trigger since {AT}"),
    ),
    (
        "reports_lost",
        {"since": AT},
        (
            REPORTS,
            "arrive every hour",
            f"have not reached the service since {AT}, although Cloudflare runs the cron trigger",
        ),
    ),
    (
        "route_not_made",
        {"route": ROUTE, "said": "The zone is gone."},
        (f"the route {ROUTE}", "exists", "could not be created: The zone is gone"),
    ),
    (
        "route_deleted",
        {"route": ROUTE},
        (f"the route {ROUTE}", "points to the Worker svc-edge", "was deleted outside the service"),
    ),
    (
        "route_taken",
        {"route": ROUTE, "holder": "the Worker {x}"},
        (f"the route {ROUTE}", "points to the Worker svc-edge", "is used by the Worker {x}"),
    ),
    (
        "route_gone",
        {"route": ROUTE},
        (f"the route {ROUTE}", "points to the Worker svc-edge", "was removed with its zone, which left the account"),
    ),
    (
        "record_not_proxied",
        {"host": "go.example"},
        ("the DNS record of go.example", "is proxied", "is missing or not proxied (gray cloud)"),
    ),
    ("zone_inactive", {"zone": "a.example", "status": "moved"}, ("the zone a.example", "is active", "is moved")),
    ("token_missing", {}, (TOKEN, "exists", "is missing")),
    ("token_expired", {"at": AT}, (TOKEN, "is valid", f"expired on {AT}")),
    ("token_inactive", {"status": "disabled"}, (TOKEN, "is active", "is disabled")),
    (
        "right_missing",
        {"right": "D1: Edit", "said": "Authentication error."},
        (
            TOKEN,
            "has the permission D1: Edit",
            "lacks the permission D1: Edit for some or all resources: Authentication error",
        ),
    ),
    ("connect_cut_short", {}, ("the connect operation", "has finished", "was interrupted")),
    (
        "connect_waits",
        {},
        ("the connect operation", "has finished", "continues when the same request is sent again"),
    ),
    (
        "operation_running",
        {"operation": "install", "step": "script"},
        ("the operation install", "has finished", "is at the step script"),
    ),
    ("link_host_not_resolved", AT_HOST, (LINK_HOST, SERVED, "has no address in public DNS")),
    (
        "link_host_private",
        {**AT_HOST, "address": "10.0.0.1"},
        (
            LINK_HOST,
            SERVED,
            "has the address 10.0.0.1 in DNS, which visitors cannot reach because it is not public",
        ),
    ),
    ("link_host_bypassed", AT_HOST, (LINK_HOST, SERVED, "responds from another server, not through Cloudflare")),
    ("link_host_not_connected", AT_HOST, (LINK_HOST, SERVED, "does not accept connections")),
    ("link_host_not_http", AT_HOST, (LINK_HOST, SERVED, "accepts connections but sends no HTTP response")),
    (
        "link_host_certificate",
        {**AT_HOST, "said": "certificate has expired"},
        (LINK_HOST, SERVED, "has no valid certificate: certificate has expired"),
    ),
    (
        "link_host_redirected",
        {**AT_HOST, "location": "https://www.example/"},
        (LINK_HOST, SERVED, "redirects visitors to https://www.example/ before the Worker receives the request"),
    ),
    ("link_host_challenged", AT_HOST, (LINK_HOST, SERVED, "shows a Cloudflare challenge page")),
    (
        "link_host_other_answer",
        {**AT_HOST, "status": "403"},
        (LINK_HOST, SERVED, "responds with status 403, which does not come from the Worker"),
    ),
    (
        "link_host_unchecked",
        {**AT_HOST, "said": "no network"},
        (LINK_HOST, SERVED, "could not be checked: no network"),
    ),
]


def words_of(finding: Finding) -> tuple[str, str, str]:
    return finding.thing, finding.expected, finding.found


@pytest.mark.parametrize(("kind", "facts", "words"), ROWS, ids=[kind for kind, _, _ in ROWS])
def test_texts_of_each_kind(kind, facts, words):
    assert words_of(Finding(kind, "resource_drift", facts)) == words
    # the fact `found` is in the text of cron_changed, but not in that of cron_deleted
    given = {"found"} if kind == "cron_deleted" else set()
    assert set(fact_names(kind)) == facts.keys() - given


def test_table_has_every_kind_except_other():
    kinds = [kind for kind in get_args(FindingKind) if kind != "other"]
    assert [kind for kind, _, _ in ROWS] == kinds
    assert list(WORDS) == kinds
    assert fact_names("other") == []


@pytest.mark.parametrize(
    ("kind", "facts", "variant", "found"),
    [
        ("route_not_made", {"route": ROUTE, "said": ""}, "unexplained", "has not been created yet"),
        ("tables_deleted", {"schema": "2", "tables": "meta"}, "rows", f"lacks rows of the table meta, {LOST}"),
    ],
)
def test_variant_changes_only_found(kind: FindingKind, facts: dict[str, str], variant: Variant, found: str):
    plain, other = (Finding(kind, "resource_drift", facts, variant=one) for one in ("", variant))
    assert words_of(other) == (plain.thing, plain.expected, found)


def test_finding_of_kind_other_has_its_own_text():
    error = EdgeRefused("cloudflare_error", "Bad {thing}.", remote_code=7003)
    finding = refused("routes", TO_WORKER, error, "Workers Routes: Edit")
    assert words_of(finding) == ("the routes", "points to the Worker svc-edge", "cannot be checked: Bad {thing}")
    assert (finding.kind, finding.facts, finding.details) == ("other", {}, {"edge_code": 7003})
    finding = refused("script", "is installed", EdgeRefused("token_refused", "No."))
    assert words_of(finding) == (TOKEN, "is accepted", "is refused: No")
    finding = unknown("some_zone", "is active", EdgeUnavailable("Away."))
    assert words_of(finding) == ("the zone", "is active", "cannot be checked now: Away")


def test_findings_about_the_same_resource_have_equal_about():
    first, second = (Finding("route_deleted", "resource_drift", {"route": route}) for route in ("a/*", "b/*"))
    held = Finding("route_taken", "route_conflict", {"route": "a/*", "holder": "the worker x"})
    assert first.about == held.about
    assert first.about != second.about
