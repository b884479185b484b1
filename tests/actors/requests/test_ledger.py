"""Tests that read the Worker's side of the statement of counts, from the account's database and from Cloudflare."""

from __future__ import annotations

import json
from typing import Any

import pytest

from svc.actors.requests import ledger
from svc.actors.requests.ledger import WorkerSide
from svc.clock import DAY_MS, day_of
from svc.worker.counts import TargetDays
from svc.worker.ledger import KEPT_DAYS, Events, Stored


@pytest.fixture
async def reader(service):
    await service.ready()
    await service.idle()
    return await LedgerReader(service).begin()


class LedgerReader:
    """Reads an account's ledger. The account's Worker has counted only the events that a test writes."""

    def __init__(self, service) -> None:
        self.service = service
        self.today = day_of(service.clock())

    async def begin(self) -> LedgerReader:
        self.account = await self.service.account()
        customer = self.service.customer.account_id
        _, self.token = await self.service.emulator.create_token(customer, rights=["D1 Write"])
        state = json.dumps({"day": self.today - 1, "since": (self.today - 1) * DAY_MS})
        await self.write("update meta set value = ?1 where key = 'state'", state)
        await self.service.emulator.forget_requests()
        return self

    async def write(self, sql: str, *params: str) -> None:
        """Write to the Worker's database as the customer."""
        path = f"/accounts/{self.service.customer.account_id}/d1/database/{self.account.database_id}/query"
        body = {"sql": sql, "params": list(params)}
        await self.service.as_platform("POST", path, self.token, json=body)

    async def accept(self, counts: Any) -> None:
        """Write the numbers of accepted events to the Worker's ledger."""
        await self.write(
            "insert or replace into ledger(day, entry, counts) values (?1 + 0, 'accepted', ?2)",
            str(self.today), json.dumps(counts),
        )  # fmt: skip

    async def ledger(self, day: int | None = None, **stored: Stored) -> WorkerSide:
        user_id, pass_hours = self.account.user_id, self.service.supervisor.live_reads
        day = self.today if day is None else day
        return await ledger.read(self.service.context, pass_hours, user_id, self.account, day, stored)

    async def calls(self) -> int:
        return len(await self.service.emulator.requests())


@pytest.mark.rule("X5")
async def test_cached_response_is_not_compared_with_newer_numbers(reader):
    await reader.accept({"site_a": [3, 0]})
    found = await reader.ledger()
    assert (found.day.accepted, found.day.closed) == ({"site_a": Events(3, 0)}, False)
    await reader.accept({"site_a": [4, 0]})
    assert (await reader.ledger()).day.accepted == {"site_a": Events(3, 0)}
    assert (await reader.ledger(site_a=Stored(Events(4, 0)))).day.accepted == {"site_a": Events(4, 0)}


@pytest.mark.rule("X5")
async def test_day_outside_the_workers_retention_is_unavailable(reader):
    assert await reader.ledger(reader.today - KEPT_DAYS - 1) == WorkerSide(None, "not_kept")
    assert await reader.calls() == 0
    assert await reader.ledger(reader.today - 2) == WorkerSide(None, "not_counted")
    assert (await reader.ledger(reader.today - 1)).day.closed


@pytest.mark.rule("X5")
@pytest.mark.usefixtures("running_worker")
async def test_cloudflare_count_is_included_or_missing_if_not_reported(reader):
    await reader.service.emulator.fault("html", "/graphql", method="POST", times=20)
    found = await reader.ledger()
    assert found.day is not None
    assert found.requests is None
    await reader.service.emulator.clear_faults()
    reader.service.clock.advance_s(300)  # the count and the ledger are cached together
    assert (await reader.ledger()).requests is None
    emulator = reader.service.emulator
    await emulator.cron(reader.service.customer.account_id, "svc-edge", at=await emulator.clock(0))
    reader.service.clock.advance_s(300)
    assert (await reader.ledger()).requests is not None


@pytest.mark.rule("X5", "R6")
async def test_foreign_ledger_rows_are_rejected_and_reads_count_against_the_limit(reader):
    await reader.accept([1, 2])  # the Worker never writes a count in this form
    assert await reader.ledger() == WorkerSide(None, "cloudflare")
    for number in range(40):
        found = await reader.ledger(site_a=Stored(Events(number, 0)))
    assert found == WorkerSide(None, "rate_limited")


@pytest.mark.rule("X5", "R4")
async def test_report_read_contains_the_statement_of_the_same_moment(reader):
    """The report needs no additional call for the statement, and does not compare cached numbers with newer stored
    numbers.
    """
    day = "insert or replace into day(target, day, totals) values ('site_a', ?1 + 0, ?2)"
    await reader.accept({"site_a": [3, 1], "site_b": [9, 9]})
    await reader.write(day, str(reader.today), '{"views": 3, "bots": {"head": 1}}')
    reads, account = reader.service.supervisor.live_reads, reader.account
    calls = await reader.calls()
    days = TargetDays("site_a", reader.today - 6, reader.today)
    live = await reads.read(account.user_id, account, days)
    assert await reader.calls() == calls + 1
    statement = live.statement
    assert (statement.day, statement.closed, statement.counts.agrees) == (reader.today, False, True)
    assert (statement.counts.accepted, statement.counts.counted) == (Events(3, 1), Events(3, 1))
    await reader.write(day, str(reader.today), '{"views": 4}')
    assert (await reads.read(account.user_id, account, days)).statement == statement
    reader.service.clock.advance_s(300)
    statement = (await reads.read(account.user_id, account, days)).statement
    assert (statement.counts.fault, statement.counts.off_by) == ("counting", Events(1, -1))

    # If another program has changed the ledger, only the statement is unavailable.
    await reader.accept({"site_a": "x"})
    reader.service.clock.advance_s(300)
    live = await reads.read(account.user_id, account, days)
    assert (live.statement, live.days[reader.today].views) == (None, 4)
