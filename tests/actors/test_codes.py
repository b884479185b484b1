"""Every code that an account, an operation, a site, a link or a link host can show: a table, walked row by row."""

from __future__ import annotations

from typing import get_args

import pytest

from svc.api.contract import ENDPOINTS
from svc.errors import CATALOGUE
from svc.model import AccountWarning
from tests.actors.codes import hosts, tokens, worker
from tests.actors.codes.case import ROWS, Case
from tests.clock import FrozenClock
from tests.emulated import POLITE

_ANY_REQUEST = "a matter of the request or its credential, whatever it asks for: tests/http"
# What none of them can show.
ELSEWHERE = {
    "invalid_request": _ANY_REQUEST,
    "unauthorized": _ANY_REQUEST,
    "scope_required": _ANY_REQUEST,
    "session_required": _ANY_REQUEST,
    "not_found": _ANY_REQUEST,
    "method_not_allowed": _ANY_REQUEST,
    "payload_too_large": _ANY_REQUEST,
    "rate_limited": _ANY_REQUEST,
    "invalid_password": "of what asks for the password again: tests/http/resources/test_sessions.py",
    "cross_origin": _ANY_REQUEST,
    "key_already_issued": "of POST /v1/keys",
    "busy": "the service's own store or end, whatever is asked: tests/journeys/test_store_away.py",
    "internal": "a bug, which no customer can bring about: tests/actors/test_supervisor.py",
    "credentials_missing": "nothing takes an account's token away; before it has one, it is pending or bootstrap_lost",
}


class TickingClock(FrozenClock):
    """One that never tells the same time twice: of two operations the later one is known."""

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms


# On one engine: the rows are about the platform, and tests/store compares the engines.
ON_SQLITE = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


@pytest.mark.rule("A2", "A4", "A8", "A11", "A12", "A13", "A16", "A20", "A25", "G8", "S1", "S8", "X6")
@ON_SQLITE
@pytest.mark.parametrize("row", [row for row in ROWS if not row.shares], ids=lambda row: row.name)
async def test_a_trouble_is_shown_until_its_remedy_is_done(row, place, zone, request):
    place.clock = TickingClock(place.clock())
    place.timing |= row.timing
    place.limits |= row.limits
    case = Case(row, place, zone, lambda: request.getfixturevalue("next_bundle"))
    try:
        await case.start()
        await case.next(row)
    finally:
        await case.stop()


@pytest.mark.rule("A2", "A16", "G8")
@ON_SQLITE
async def test_each_error_of_an_installed_account_is_shown_until_its_remedy_is_applied(place, zone, request):
    """Play the rows that begin and end with an installed account in one: a new account for each would cost more."""
    place.clock = TickingClock(place.clock())
    shared = [row for row in ROWS if row.shares]
    case = Case(shared[0], place, zone, lambda: request.getfixturevalue("next_bundle"))
    try:
        await case.start()
        for row in shared:
            try:
                await case.next(row)
            except BaseException as error:
                error.add_note(f"in the row {row.name}")
                raise
            await case.emulator.clear_faults()
            await case.emulator.set_rudeness(**POLITE)
    finally:
        await case.stop()


@pytest.mark.rule("G8")
def test_rows_that_share_an_account_share_a_service():
    assert not [row.name for row in ROWS if row.shares and (row.timing or row.limits)]


@pytest.mark.rule("G8")
def test_every_code_is_in_the_table_or_has_a_reason_not_to_be():
    assert all((tokens, worker, hosts)), "which fill the table"
    told = {row.code for row in ROWS}
    assert told | ELSEWHERE.keys() == CATALOGUE.keys() | set(get_args(AccountWarning))
    assert not told & ELSEWHERE.keys()


@pytest.mark.rule("G8")
def test_every_code_that_an_endpoint_is_declared_with_was_met_as_an_answer():
    answered = {row.code for row in ROWS if "answer" in row.shows}
    answered |= {meaning.shown_as for code, meaning in CATALOGUE.items() if meaning.shown_as and code in answered}
    for endpoint in ENDPOINTS:
        if endpoint.tag in ("accounts", "sites", "links"):
            assert set(endpoint.all_codes) <= answered | ELSEWHERE.keys(), endpoint.operation_id
