"""The worker's side of the statement of counts, read from the account's own database and the platform."""

from __future__ import annotations

import json
from typing import Any

import pytest

from svc.actors.requests import ledger
from svc.actors.requests.ledger import WorkerSide
from svc.clock import DAY_MS, day_of
from svc.worker.ledger import KEPT_DAYS, Events, Stored


@pytest.fixture
async def asked(service):
    await service.ready()
    await service.idle()
    return await Asked(service).begin()


class Asked:
    """The ledger of one account, whose worker has counted nothing yet but what a test writes there."""

    def __init__(self, service) -> None:
        self.service = service
        self.today = day_of(service.clock())

    async def begin(self) -> Asked:
        self.account = await self.service.account()
        customer = self.service.customer.account_id
        _, self.token = await self.service.emulator.create_token(customer, rights=["D1 Write"])
        state = json.dumps({"day": self.today - 1, "since": (self.today - 1) * DAY_MS})
        await self.write("update meta set value = ?1 where key = 'state'", state)
        await self.service.emulator.forget_requests()
        return self

    async def write(self, sql: str, *params: str) -> None:
        """The customer's own hand on the database."""
        path = f"/accounts/{self.service.customer.account_id}/d1/database/{self.account.database_id}/query"
        body = {"sql": sql, "params": list(params)}
        await self.service.as_platform("POST", path, self.token, json=body)

    async def accept(self, counts: Any) -> None:
        """The worker has accepted these in all."""
        await self.write(
            "insert or replace into ledger(day, entry, counts) values (?1 + 0, 'accepted', ?2)",
            str(self.today), json.dumps(counts),
        )  # fmt: skip

    async def ledger(self, day: int | None = None, **stored: Stored) -> WorkerSide:
        user_id, live = self.account.user_id, self.service.supervisor.live_reads
        day = self.today if day is None else day
        return await ledger.read(self.service.context, live, user_id, self.account, day, stored)

    async def calls(self) -> int:
        return len(await self.service.emulator.requests())


@pytest.mark.rule("X5")
async def test_a_kept_answer_is_compared_with_nothing_that_was_stored_later(asked):
    await asked.accept({"site_a": [3, 0]})
    found = await asked.ledger()
    assert (found.day.accepted, found.day.closed) == ({"site_a": Events(3, 0)}, False)
    await asked.accept({"site_a": [4, 0]})
    assert (await asked.ledger()).day.accepted == {"site_a": Events(3, 0)}
    assert (await asked.ledger(site_a=Stored(Events(4, 0)))).day.accepted == {"site_a": Events(4, 0)}


@pytest.mark.rule("X5")
async def test_a_day_that_the_worker_cannot_know_is_not_asked_for_or_not_known(asked):
    assert await asked.ledger(asked.today - KEPT_DAYS - 1) == WorkerSide(None, "not_kept")
    assert await asked.calls() == 0
    assert await asked.ledger(asked.today - 2) == WorkerSide(None, "not_counted")
    assert (await asked.ledger(asked.today - 1)).day.closed


@pytest.mark.rule("X5")
@pytest.mark.usefixtures("running_worker")
async def test_the_platforms_count_is_beside_it_and_missing_where_it_is_not_told(asked):
    await asked.service.emulator.fault("html", "/graphql", method="POST", times=20)
    found = await asked.ledger()
    assert found.day is not None
    assert found.requests is None
    await asked.service.emulator.clear_faults()
    asked.service.clock.advance_s(300)  # it is kept with the rest
    assert (await asked.ledger()).requests is None
    emulator = asked.service.emulator
    await emulator.cron(asked.service.customer.account_id, "svc-edge", at=await emulator.clock(0))
    asked.service.clock.advance_s(300)
    assert (await asked.ledger()).requests is not None


@pytest.mark.rule("X5", "R6")
async def test_what_somebody_else_wrote_there_is_no_ledger_and_reads_are_of_the_reports_limit(asked):
    await asked.accept([1, 2])  # not what the worker writes
    assert await asked.ledger() == WorkerSide(None, "cloudflare")
    for number in range(40):
        found = await asked.ledger(site_a=Stored(Events(number, 0)))
    assert found == WorkerSide(None, "rate_limited")
