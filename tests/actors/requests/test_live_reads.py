"""Reads of an account's own database: shared by those who ask the same, bounded for each user, kept for a while."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from svc.actors.requests import ledger
from svc.actors.requests.live_reads import Unavailable, query
from svc.clock import DAY_MS, day_of
from svc.worker.bundle import SCRIPT_NAME
from svc.worker.counts import Live, TargetDays
from tests.actors.checks.test_health_check import Hand

A_MINUTE = [("select 1 as n", ()), ("select 2 as n", ())]


@pytest.fixture
async def asked(service):
    await service.ready()
    await service.idle()
    if day_of(service.clock() + 120_000) != day_of(service.clock()):
        service.clock.advance_s(120)  # over midnight, as a question of today is another one the next day
    return await Asked(service).begin()


class Asked:
    """The reads of one account, and how many calls they made of it."""

    def __init__(self, service) -> None:
        self.service = service

    async def begin(self) -> Asked:
        self.account = await self.service.account()
        await self.service.emulator.forget_requests()
        return self

    @property
    def reads(self) -> Any:
        return self.service.supervisor.live_reads

    async def target(self, name: str, **other: Any) -> Any:
        """A report's read of a target."""
        today = day_of(self.service.clock())
        account = replace(self.account, **other)
        return await self.reads.read(account.user_id, account, TargetDays(name, today, today))

    async def rows(self, key: str, statements: Any = A_MINUTE, user_id: int | None = None) -> Any:
        """Another read."""
        user_id = user_id or self.account.user_id
        return await self.reads.ask(user_id, self.account, key, partial(query, statements))

    async def calls(self) -> int:
        """How often the database was asked."""
        return sum(call["path"].endswith("/query") for call in await self.service.emulator.requests())

    async def slow(self, delay_s: float) -> None:
        """The next call takes so long."""
        await self.service.emulator.fault("slow", "*/query", delay_s=delay_s)


@pytest.mark.rule("R3", "R4", "R6")
async def test_two_hundred_who_ask_the_same_at_once_share_one_read_and_one_place(asked):
    found: list[Any] = []

    async def ask() -> None:
        found.append(await asked.target("lnk_a"))

    await asked.slow(0.5)
    async with trio.open_nursery() as nursery:
        for _ in range(200):
            nursery.start_soon(ask)
    assert len(found) == 200
    assert all(isinstance(live, Live) for live in found)
    assert await asked.calls() == 1
    for number in range(29):
        assert await asked.rows(str(number)) == [[{"n": 1}], [{"n": 2}]]
    assert await asked.rows("one more") == Unavailable("rate_limited")
    # Of another user nothing is used, and what is kept costs nothing; a minute later there is place again.
    assert await asked.rows("one more", user_id=asked.account.user_id + 1) == [[{"n": 1}], [{"n": 2}]]
    assert isinstance(await asked.target("lnk_a"), Live)
    asked.service.clock.advance_s(60)
    assert await asked.rows("and one more") == [[{"n": 1}], [{"n": 2}]]


@pytest.mark.rule("R3", "R6")
async def test_who_waits_for_a_first_view_is_told_within_seconds_and_within_the_same_limit(asked):
    async def waiting() -> Any:
        return await asked.reads.first_view(asked.account.user_id, asked.account, "site_a")

    for _ in range(2):
        assert isinstance(await asked.target("site_a"), Live)
        assert isinstance(await waiting(), Live)
    assert await asked.calls() == 2  # one of each: what is kept of a report does not answer
    for _ in range(28):
        asked.service.clock.advance_s(1.01)
        assert isinstance(await asked.target("site_a"), Live)
        assert isinstance(await waiting(), Live)
    assert await asked.calls() == 4  # after ten seconds, and after twenty
    for number in range(26):
        await asked.rows(str(number))
    asked.service.clock.advance_s(10)
    assert await waiting() == Unavailable("rate_limited")


@pytest.mark.rule("R3", "R6")
async def test_who_asked_first_and_hangs_up_takes_nothing_from_those_who_wait(asked):
    found: list[Any] = []

    async def ask() -> None:
        found.append(await asked.rows("a"))

    await asked.slow(0.5)
    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def ask_first() -> None:
            with first:
                await ask()

        nursery.start_soon(ask_first)
        while not await asked.calls():
            await trio.lowlevel.checkpoint()
        nursery.start_soon(ask)
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        first.cancel()
    assert found == [[[{"n": 1}], [{"n": 2}]]] * 2
    assert await asked.calls() == 1


@pytest.mark.rule("R4", "R5", "R6")
async def test_a_platform_that_takes_too_long_fails_those_who_wait_and_nobody_later(place):
    place.edge = {"report_read_s": 0.8}
    async with place.running() as service:
        await service.ready()
        await service.idle()
        asked = await Asked(service).begin()
        await asked.slow(3)
        found: list[Any] = []

        async def ask() -> None:
            found.append(await asked.target("lnk_a"))

        with trio.fail_after(2.9):
            async with trio.open_nursery() as nursery:
                for _ in range(1_000):
                    nursery.start_soon(ask)
        assert found == [Unavailable("cloudflare")] * 1_000
        await trio.testing.wait_all_tasks_blocked(0.05)  # the read that failed has ended
        assert isinstance(await asked.target("lnk_a"), Live)


@pytest.mark.rule("R3", "R5")
async def test_an_answer_that_is_none_is_no_answer_and_is_not_kept(asked):
    half = '{"success": true, "errors": [], "messages": [], "result": [{"results": [{"n": 1}], "success": true}]}'
    await asked.service.emulator.fault("html", "*/query", status=200, body=half)
    assert await asked.rows("a") == Unavailable("cloudflare")
    await asked.service.emulator.fault("html", "*/query", times=None, status=502)
    assert await asked.rows("a") == Unavailable("cloudflare")
    await asked.service.emulator.clear_faults()
    assert await asked.rows("a") == [[{"n": 1}], [{"n": 2}]]
    # More than the service takes of one answer: 16 MB.
    large = [("select hex(zeroblob(900000)) as text", ())] * 10
    assert await asked.rows("large", large) == Unavailable("cloudflare")


@pytest.mark.rule("R3", "R4")
async def test_an_answer_is_kept_for_its_time_its_database_and_its_day(asked):
    clock = asked.service.clock
    await asked.target("lnk_a")
    clock.advance_s(299)
    assert (await asked.target("lnk_a")).at == clock() - 299_000
    assert await asked.calls() == 1
    clock.advance_s(1)
    assert (await asked.target("lnk_a")).at == clock()
    # A clock that is set back makes no answer older than it is.
    clock.advance_s(-3_600)
    assert (await asked.target("lnk_a")).at == clock()
    assert await asked.calls() == 3
    # The same target behind another record, or in another database, is another one.
    await asked.target("lnk_a", id="acc_other")
    assert await asked.target("lnk_a", database_id="gone") == Unavailable("cloudflare")
    assert await asked.calls() == 5
    clock.advance_s(DAY_MS / 1000)
    assert (await asked.target("lnk_a")).at == clock()
    # Nobody reads with a token that is gone, not even what is kept.
    assert await asked.target("lnk_a", state="revoked") == Unavailable("not_installed")


@pytest.mark.rule("R4", "R5")
async def test_the_database_is_read_in_every_state_in_which_the_token_may_read_it(asked):
    for state in ("ready", "no_connection", "permission_error", "resource_drift", "installing", "connected"):
        assert isinstance(await asked.target(f"lnk_{state}", state=state), Live), state
    gone: dict[str, dict[str, Any]] = {
        "no worker was installed": {"state": "installing", "installed_at": None},
        "the install before failed": {"state": "connected", "installed_at": None},
        "there is no database": {"state": "connected", "database_id": None},
        "there is no token": {"state": "permission_error", "sealed_token": None},
        "the token is gone": {"state": "revoked"},
    }
    for why, changed in gone.items():
        assert await asked.target("lnk_ready", **changed) == Unavailable("not_installed"), why


@pytest.mark.rule("R4", "R5", "A20")
async def test_a_token_that_lost_another_right_still_reads_and_one_without_the_databases_does_not(asked):
    service = asked.service
    hand = Hand(service)
    for right, found in (("Account Settings Read", Live), ("D1 Write", Unavailable)):
        await hand.edit_token(without=[right])
        await service.call("POST", f"/v1/accounts/{asked.account.id}/check")
        asked.account = await service.account()
        assert asked.account.state == "permission_error", right
        live = await asked.target(f"lnk_{right}")
        assert isinstance(live, found), right
    assert live == Unavailable("cloudflare")
    await hand.edit_token(status="disabled")
    assert await asked.target("lnk_disabled") == Unavailable("not_installed")


@pytest.mark.rule("R3")
async def test_large_answers_are_kept_within_a_bound_of_bytes(asked):
    large = [("select hex(zeroblob(900000)) as text", ())]
    for number in range(9):
        assert await asked.rows(str(number), large) != Unavailable("cloudflare")
    await asked.rows("8", large)
    assert await asked.calls() == 9
    await asked.rows("0", large)
    assert await asked.calls() == 10


async def cron(service: Any) -> None:
    """The worker's first run, with which its database begins to count."""
    await service.emulator.cron(service.customer.account_id, SCRIPT_NAME, at=service.clock())


async def side(asked: Asked) -> Any:
    """The worker's side of today's statement of counts."""
    today = day_of(asked.service.clock())
    context = asked.service.context
    return await ledger.read(context, asked.reads, asked.account.user_id, asked.account, today, {})


@pytest.mark.rule("R6", "X5")
@pytest.mark.usefixtures("running_worker")
async def test_a_statement_of_counts_asks_the_platform_for_its_own_count_in_the_same_read(asked):
    await cron(asked.service)
    await asked.begin()
    found: list[Any] = []

    async def ask() -> None:
        found.append(await side(asked))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)
    for _ in range(20):
        await ask()
    assert [one.unavailable for one in found] == [None] * 40
    for number in range(30):
        await asked.rows(str(number))
    asked.service.clock.advance_s(30)
    assert await side(asked) == found[0]
    assert [call["path"] for call in await asked.service.emulator.requests()].count("/graphql") == 1


@pytest.mark.rule("R6", "X5")
@pytest.mark.usefixtures("running_worker")
async def test_a_statement_of_counts_does_not_wait_for_a_slow_count_of_the_platform(place):
    place.edge = {"report_read_s": 2}
    async with place.running() as service:
        await service.ready()
        await service.idle()
        await cron(service)
        asked = await Asked(service).begin()
        await service.emulator.fault("slow", "/graphql", delay_s=4)
        found = await side(asked)
    assert (found.unavailable, found.requests) == (None, None)
    assert found.day is not None
