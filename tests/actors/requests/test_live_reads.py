"""Tests of live reads of account databases: identical reads share a call, users have limits, results are cached
briefly.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
import trio
import trio.testing

from svc.actors.requests import ledger
from svc.actors.requests.live_reads import Unavailable, query
from svc.clock import DAY_MS, day_of
from svc.errors import StoreUnavailable
from svc.store.ledger import stored_target_day
from svc.worker.bundle import SCRIPT_NAME
from svc.worker.counts import Live, TargetDays
from tests.actors.checks.test_health_check import CustomerApi
from tests.actors.conftest import NEVER_S
from tests.store.passing import Passing

if TYPE_CHECKING:
    from svc.store.tx import Tx

T = TypeVar("T")

A_MINUTE = [("select 1 as n", ()), ("select 2 as n", ())]


@pytest.fixture
async def reader(service):
    await service.ready()
    await service.idle()
    if day_of(service.clock() + 120_000) != day_of(service.clock()):
        # If midnight is near, move the clock past it now. Otherwise, midnight could fall within the test, and reads of
        # the current day would have another cache key after midnight.
        service.clock.advance_s(120)
    return await Reader(service).begin()


class Reader:
    """Reads the database of one account, and counts the calls to Cloudflare."""

    def __init__(self, service) -> None:
        self.service = service

    async def begin(self) -> Reader:
        self.account = await self.service.account()
        await self.service.emulator.forget_requests()
        return self

    @property
    def reads(self) -> Any:
        return self.service.supervisor.live_reads

    async def target(self, name: str, **other: Any) -> Any:
        """Read a target's counts as a report does."""
        today = day_of(self.service.clock())
        account = replace(self.account, **other)
        return await self.reads.read(account.user_id, account, TargetDays(name, today, today))

    async def rows(self, key: str, statements: Any = A_MINUTE, user_id: int | None = None) -> Any:
        """Read the results of these statements, and cache them under `key`."""
        user_id = user_id or self.account.user_id
        return await self.reads.ask(user_id, self.account, key, partial(query, statements))

    async def calls(self) -> int:
        """Return the number of calls to the database."""
        return sum(call["path"].endswith("/query") for call in await self.service.emulator.requests())

    async def slow(self, delay_s: float) -> None:
        """Delay the next call."""
        await self.service.emulator.fault("slow", "*/query", delay_s=delay_s)


class Busy(Passing):
    """A store that refuses or never finishes the read of a target's stored counts for a day.

    `how`: "refused", "waiting" if the read never ends, or "" if the store works. With PostgreSQL, a transaction is
    refused after it has waited for a connection for `ACQUIRE_S`.
    """

    how = ""

    async def read(self, tx: Tx[T]) -> T:
        if self.how and cast("Any", tx).__name__ == stored_target_day.__name__:
            tx.close()
            if self.how == "waiting":
                await trio.sleep_forever()
            raise StoreUnavailable("Too many requests are waiting for the service's store. Try again.")
        return await super().read(tx)


@pytest.mark.rule("R3", "R4", "R6")
async def test_two_hundred_equal_reads_share_one_call_and_count_once(reader):
    found: list[Any] = []

    async def ask() -> None:
        found.append(await reader.target("lnk_a"))

    await reader.slow(0.5)
    async with trio.open_nursery() as nursery:
        for _ in range(200):
            nursery.start_soon(ask)
    assert len(found) == 200
    assert all(isinstance(pass_hours, Live) for pass_hours in found)
    assert await reader.calls() == 1
    for number in range(29):
        assert await reader.rows(str(number)) == [[{"n": 1}], [{"n": 2}]]
    assert await reader.rows("one more") == Unavailable("rate_limited")
    # Each user has a separate limit, and cached results do not count. Reads are allowed again after a minute.
    assert await reader.rows("one more", user_id=reader.account.user_id + 1) == [[{"n": 1}], [{"n": 2}]]
    assert isinstance(await reader.target("lnk_a"), Live)
    reader.service.clock.advance_s(60)
    assert await reader.rows("and one more") == [[{"n": 1}], [{"n": 2}]]


@pytest.mark.rule("R3", "R6")
async def test_first_view_is_seen_within_seconds_and_counts_against_the_same_limit(reader):
    async def waiting() -> Any:
        return await reader.reads.first_view(reader.account.user_id, reader.account, "site_a")

    for _ in range(2):
        assert isinstance(await reader.target("site_a"), Live)
        assert isinstance(await waiting(), Live)
    assert await reader.calls() == 2  # one call for each kind of read, because a report's cached result is not used
    for _ in range(28):
        reader.service.clock.advance_s(1.01)
        assert isinstance(await reader.target("site_a"), Live)
        assert isinstance(await waiting(), Live)
    assert await reader.calls() == 4  # one more call after ten seconds, and another one after twenty
    for number in range(26):
        await reader.rows(str(number))
    reader.service.clock.advance_s(10)
    assert await waiting() == Unavailable("rate_limited")


@pytest.mark.rule("R3", "R6")
async def test_first_caller_that_disconnects_does_not_cancel_the_read_for_others(reader):
    found: list[Any] = []

    async def ask() -> None:
        found.append(await reader.rows("a"))

    await reader.slow(0.5)
    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def ask_first() -> None:
            with first:
                await ask()

        nursery.start_soon(ask_first)
        while not await reader.calls():
            await trio.lowlevel.checkpoint()
        nursery.start_soon(ask)
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        first.cancel()
    assert found == [[[{"n": 1}], [{"n": 2}]]] * 2
    assert await reader.calls() == 1


@pytest.mark.rule("R4", "R5", "R6")
async def test_slow_read_fails_waiting_callers_only(place):
    # The default time limit. With a shorter limit, the second read could also fail on a busy machine.
    async with place.running() as service:
        await service.ready()
        await service.idle()
        reader = await Reader(service).begin()
        await reader.slow(NEVER_S)
        found: list[Any] = []

        async def ask() -> None:
            found.append(await reader.target("lnk_a"))

        async with trio.open_nursery() as nursery:
            for _ in range(1_000):
                nursery.start_soon(ask)
        assert found == [Unavailable("cloudflare")] * 1_000
        await trio.testing.wait_all_tasks_blocked(0.05)  # wait until the failed read has ended
        assert isinstance(await reader.target("lnk_a"), Live)


@pytest.mark.rule("R4", "R5", "R6")
@pytest.mark.usefixtures("running_worker")
async def test_store_that_refuses_reads_does_not_make_the_counts_unavailable(place):
    place.edge = {"report_read_s": 60}  # on a busy machine, the store may take a while
    place.store = busy = Busy(place.store)
    async with place.running() as service:
        reader = await installed(service)
        assert (await reader.target("lnk_a")).statement is not None
        busy.how = "refused"
        found = await reader.target("lnk_b")
        assert isinstance(found, Live)
        assert found.statement is None
        assert await reader.calls() == 2


@pytest.mark.rule("R4", "R5", "R6")
@pytest.mark.usefixtures("running_worker")
async def test_slow_store_does_not_make_the_counts_unavailable(place):
    place.edge = {"report_read_s": 8}
    place.store = busy = Busy(place.store)
    async with place.running() as service:
        reader = await installed(service)
        busy.how = "waiting"
        found = await reader.target("lnk_a")
        assert isinstance(found, Live)
        assert found.statement is None
        assert await reader.calls() == 1


async def installed(service) -> Reader:
    """Connect an account, run its Worker once, and return a reader of its database."""
    await service.ready()
    await service.idle()
    await cron(service)
    return await Reader(service).begin()


@pytest.mark.rule("R3", "R5")
async def test_invalid_response_is_not_cached(reader):
    half = '{"success": true, "errors": [], "messages": [], "result": [{"results": [{"n": 1}], "success": true}]}'
    await reader.service.emulator.fault("html", "*/query", status=200, body=half)
    assert await reader.rows("a") == Unavailable("cloudflare")
    await reader.service.emulator.fault("html", "*/query", times=None, status=502)
    assert await reader.rows("a") == Unavailable("cloudflare")
    await reader.service.emulator.clear_faults()
    assert await reader.rows("a") == [[{"n": 1}], [{"n": 2}]]
    # The response exceeds the service's limit of 16 MB.
    large = [("select hex(zeroblob(900000)) as text", ())] * 10
    assert await reader.rows("large", large) == Unavailable("cloudflare")


@pytest.mark.rule("R3", "R4")
async def test_result_is_cached_per_time_database_and_day(reader):
    clock = reader.service.clock
    await reader.target("lnk_a")
    clock.advance_s(299)
    assert (await reader.target("lnk_a")).at == clock() - 299_000
    assert await reader.calls() == 1
    clock.advance_s(1)
    assert (await reader.target("lnk_a")).at == clock()
    # If the clock is set back, cached results must not be used for longer.
    clock.advance_s(-3_600)
    assert (await reader.target("lnk_a")).at == clock()
    assert await reader.calls() == 3
    # The cache has another entry for the same target in another account or another database.
    await reader.target("lnk_a", id="acc_other")
    assert await reader.target("lnk_a", database_id="gone") == Unavailable("cloudflare")
    assert await reader.calls() == 5
    clock.advance_s(DAY_MS / 1000)
    assert (await reader.target("lnk_a")).at == clock()
    # If the token is invalid, nothing is returned, not even cached results.
    assert await reader.target("lnk_a", state="revoked") == Unavailable("not_installed")


@pytest.mark.rule("R4", "R5")
async def test_database_is_read_in_every_state_with_a_valid_token(reader):
    for state in ("ready", "no_connection", "permission_error", "resource_drift", "installing", "connected"):
        assert isinstance(await reader.target(f"lnk_{state}", state=state), Live), state
    gone: dict[str, dict[str, Any]] = {
        "no worker was installed": {"state": "installing", "installed_at": None},
        "the install before failed": {"state": "connected", "installed_at": None},
        "there is no database": {"state": "connected", "database_id": None},
        "there is no token": {"state": "permission_error", "sealed_token": None},
        "the token is gone": {"state": "revoked"},
    }
    for why, changed in gone.items():
        assert await reader.target("lnk_ready", **changed) == Unavailable("not_installed"), why


@pytest.mark.rule("R4", "R5", "A20")
async def test_token_reads_unless_it_lacks_the_database_permission(reader):
    service = reader.service
    customer_api = CustomerApi(service)
    for right, found in (("Account Settings Read", Live), ("D1 Write", Unavailable)):
        await customer_api.edit_token(without=[right])
        await service.call("POST", f"/v1/accounts/{reader.account.id}/check")
        reader.account = await service.account()
        assert reader.account.state == "permission_error", right
        pass_hours = await reader.target(f"lnk_{right}")
        assert isinstance(pass_hours, found), right
    assert pass_hours == Unavailable("cloudflare")
    await customer_api.edit_token(status="disabled")
    assert await reader.target("lnk_disabled") == Unavailable("not_installed")


@pytest.mark.rule("R3")
async def test_cache_size_is_limited_in_bytes(reader):
    large = [("select hex(zeroblob(900000)) as text", ())]
    for number in range(9):
        assert await reader.rows(str(number), large) != Unavailable("cloudflare")
    await reader.rows("8", large)
    assert await reader.calls() == 9
    await reader.rows("0", large)
    assert await reader.calls() == 10


async def cron(service: Any) -> None:
    """Run the Worker's cron job for the first time. From then on, the Worker counts events in its database."""
    await service.emulator.cron(service.customer.account_id, SCRIPT_NAME, at=service.clock())


async def side(reader: Reader) -> Any:
    """Return the Worker's side of today's statement of counts."""
    today = day_of(reader.service.clock())
    context = reader.service.context
    return await ledger.read(context, reader.reads, reader.account.user_id, reader.account, today, {})


@pytest.mark.rule("R6", "X5")
@pytest.mark.usefixtures("running_worker")
async def test_statement_reads_the_cloudflare_count_in_the_same_read(reader):
    await cron(reader.service)
    await reader.begin()
    found: list[Any] = []

    async def ask() -> None:
        found.append(await side(reader))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)
    for _ in range(20):
        await ask()
    assert [one.unavailable for one in found] == [None] * 40
    for number in range(30):
        await reader.rows(str(number))
    reader.service.clock.advance_s(30)
    assert await side(reader) == found[0]
    assert [call["path"] for call in await reader.service.emulator.requests()].count("/graphql") == 1


@pytest.mark.rule("R6", "X5")
@pytest.mark.usefixtures("running_worker")
async def test_statement_does_not_wait_for_a_slow_cloudflare_count(place):
    async with place.running() as service:
        reader = await installed(service)
        await service.emulator.fault("slow", "/graphql", delay_s=NEVER_S)
        found = await side(reader)
    assert (found.unavailable, found.requests) == (None, None)
    assert found.day is not None
