"""Tests of every error code of accounts, operations, sites, links and link hosts. Each table row is a test case."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, get_args

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from svc.api.contract import ENDPOINTS
from svc.errors import CATALOGUE
from svc.model import AccountWarning
from tests.actors.codes import hosts, tokens, worker
from tests.actors.codes.case import ROWS, Case
from tests.clock import FrozenClock
from tests.emulated import LENIENT

if TYPE_CHECKING:
    from tests.actors.codes.case import Row

_NOT_ACCOUNT_SPECIFIC = "concerns the request or its credential: tests/http"
# Codes that have no row, with the reasons.
ELSEWHERE = {
    "invalid_request": _NOT_ACCOUNT_SPECIFIC,
    "unauthorized": _NOT_ACCOUNT_SPECIFIC,
    "scope_required": _NOT_ACCOUNT_SPECIFIC,
    "user_disabled": _NOT_ACCOUNT_SPECIFIC,
    "sign_up_closed": _NOT_ACCOUNT_SPECIFIC,
    "link_disabled": "the operator's decision: tests/http/resources/test_disabled_targets.py",
    "site_disabled": "the operator's decision: tests/http/resources/test_disabled_targets.py",
    "note_automatic": "concerns only the store: tests/http/resources/test_notes.py",
    "session_required": _NOT_ACCOUNT_SPECIFIC,
    "not_found": _NOT_ACCOUNT_SPECIFIC,
    "method_not_allowed": _NOT_ACCOUNT_SPECIFIC,
    "payload_too_large": _NOT_ACCOUNT_SPECIFIC,
    "rate_limited": _NOT_ACCOUNT_SPECIFIC,
    "invalid_password": "only where the password is requested again: tests/http/resources/test_sessions.py",
    "cross_origin": _NOT_ACCOUNT_SPECIFIC,
    "key_already_issued": "only POST /v1/keys",
    "busy": "the service's own store or shutdown, for every request: tests/journeys/test_store_away.py",
    "internal": "a bug, which no customer can cause: tests/actors/test_supervisor.py",
    **dict.fromkeys(
        (
            "link_host_not_resolved",
            "link_host_unreachable",
            "link_host_certificate",
            "link_host_redirected",
            "link_host_challenged",
            "link_host_other_answer",
        ),
        "what visitors of the link host get: tests/actors/checks/test_link_host_visit.py",
    ),
    "credentials_missing": "an account never loses its token; without one it is pending or bootstrap_lost",
}


class TickingClock(FrozenClock):
    """A clock that never returns the same time twice, so that the order of operations is known."""

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms


# One engine is sufficient, because the rows are about Cloudflare, and tests/store covers the engines.
ON_SQLITE = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


def separate_rows() -> list[Row]:
    """Return the rows that need a separate account: all in `make test-all`, otherwise one for each code."""
    by_code = defaultdict(list)
    for row in ROWS:
        if not row.shares:
            by_code[row.code].append(row)
    return [
        row
        for code, rows in by_code.items()
        for row in (rows if EVERYTHING else [random.Random(f"{SEED} {code}").choice(rows)])
    ]


@pytest.mark.rule("A2", "A4", "A8", "A11", "A12", "A13", "A16", "A20", "A25", "G8", "S1", "S8", "X6")
@ON_SQLITE
@pytest.mark.parametrize("row", separate_rows(), ids=lambda row: row.name)
async def test_each_error_is_shown_until_its_remedy_is_applied(row, place, zone, request):
    place.clock = TickingClock(place.clock())
    place.timing |= row.timing
    place.limits |= row.limits
    case = Case(row, place, zone, lambda: request.getfixturevalue("next_bundle"))
    try:
        await case.start()
        await case.play(row)
    finally:
        await case.stop()


@pytest.mark.rule("A2", "A16", "G8")
@ON_SQLITE
async def test_each_error_of_an_installed_account_is_shown_until_its_remedy_is_applied(place, zone, request):
    """Rows of `ROWS` that start and end with an installed account share one, because creating accounts takes time."""
    place.clock = TickingClock(place.clock())
    shared = [row for row in ROWS if row.shares]
    case = Case(shared[0], place, zone, lambda: request.getfixturevalue("next_bundle"))
    try:
        await case.start()
        for row in shared:
            try:
                await case.play(row)
            except BaseException as error:
                error.add_note(f"in the row {row.name}")
                raise
            await case.emulator.clear_faults()
            await case.emulator.set_failure_settings(**LENIENT)
    finally:
        await case.stop()


@pytest.mark.rule("G8")
def test_rows_that_share_an_account_share_a_service():
    assert not [row.name for row in ROWS if row.shares and (row.timing or row.limits)]


@pytest.mark.rule("G8")
def test_every_code_is_in_the_table_or_has_a_reason_for_its_absence():
    assert all((tokens, worker, hosts)), "these modules fill the table"
    covered = {row.code for row in ROWS}
    assert covered | ELSEWHERE.keys() == CATALOGUE.keys() | set(get_args(AccountWarning))
    assert not covered & ELSEWHERE.keys()


@pytest.mark.rule("G8")
def test_every_declared_code_of_an_endpoint_occurs_in_a_response():
    answered = {row.code for row in ROWS if "response" in row.shows}
    answered |= {meaning.shown_as for code, meaning in CATALOGUE.items() if meaning.shown_as and code in answered}
    for endpoint in ENDPOINTS:
        if endpoint.tag in ("accounts", "sites", "links"):
            assert set(endpoint.all_codes) <= answered | ELSEWHERE.keys(), endpoint.operation_id
