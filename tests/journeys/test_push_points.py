"""After failures at every possible point of a push, the service's totals must be the same as without failures.

`make test` takes a random sample of the database calls, and `make test-all` takes all of them.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import open_service
from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.store import open_store, totals
from tests.databases import sqlite_config
from tests.journeys.conftest import ZONE, connect, crons, settings_of

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator

HOUR_MS, DAY_MS, MINUTE_MS = 3_600_000, 86_400_000, 60_000
PEOPLE = 3
EGRESS = ("egress_drop_before", "egress_drop_after", "egress_status")
DATABASE = ("d1_drop_before", "d1_drop_after")
# The number of database calls in a cron run that folds events, closes an hour and pushes: usually at least the first
# number, and always fewer than the second.
MIN_CALLS, MAX_CALLS = 8, 30
DAYS = 3


class Hours:
    """Consecutive hours that start at the epoch hour `first`. Each has the same visits and a failure in its cron."""

    def __init__(self, emulator: Emulator, customer: Customer, path: str, real: int, first: int) -> None:
        self.emulator, self.customer, self.path, self.real, self.first = emulator, customer, path, real, first
        self.names: list[str] = []

    async def next(self, name: str, fault: dict[str, Any] | None, *, runs: int = 1) -> bool:
        """Simulate the next hour, with a fault in its cron or with `runs` concurrent crons. Return True if the fault
        occurred.
        """
        hour = self.first + len(self.names)
        self.names.append(name)
        await self.emulator.clock((hour * HOUR_MS + 2 * MINUTE_MS - self.real) / 1000)
        for number in range(2 * PEOPLE):
            visit = await self.emulator.visit(
                ZONE, self.path, method="POST", body="/\n", ip=f"192.0.2.{number % PEOPLE}",
                headers={"user-agent": DESKTOP_CHROME.user_agent},
            )  # fmt: skip
            assert visit.status == 204
        await self.emulator.settled()
        # The account's push is due before minute 55, so this run folds the events, closes the hour and pushes it.
        due = (hour + 1) * HOUR_MS + 55 * MINUTE_MS
        if fault is not None:
            await self.emulator.fault(**fault)
        async with trio.open_nursery() as nursery:
            for _ in range(runs):
                nursery.start_soon(self.crons, due, 1, fault is not None)
        unused = await self.emulator.faults()
        await self.emulator.clear_faults()
        await self.crons(due + MINUTE_MS, 4)
        return not unused

    async def crons(self, at: int, minutes: int, fail: bool = False) -> None:
        """Run the crons, as in conftest.crons."""
        await crons(self.emulator, self.customer, self.real, at, minutes, fail=fail)


@pytest.mark.rule("W3", "R1")
@pytest.mark.timeout(600)
async def test_failure_at_any_point_of_the_push_changes_no_total(emulator, customer, tmp_path):
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    config = sqlite_config(tmp_path)
    real = await emulator.clock(0)
    # The last day is closed in the first hours of the next day. By the service's clock, these hours must have passed.
    first_day = (real - 2 * HOUR_MS) // DAY_MS - DAYS
    async with open_service(tmp_path / "svc", settings_of(emulator, config)) as service:
        await service.sign_up("a@example.com", "a long password")
        await emulator.clock((first_day * DAY_MS + MINUTE_MS - real) / 1000)
        account_id = await connect(service, customer)
        site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": ZONE}, expect=202))["site"]
        await service.synced(f"/v1/sites/{site['id']}")

        hours = Hours(emulator, customer, site["path"], real, first_day * 24)
        for kind in EGRESS:
            assert await hours.next(kind, {"kind": kind, "path": "*/edge/push"})
        for kind in DATABASE:
            for call in range(MAX_CALLS + 1) if EVERYTHING else sorted(chance.sample(range(2 * MIN_CALLS), 4)):
                print(f"{kind} at call {call}")
                if not await hours.next(f"{kind} {call}", {"kind": kind, "after": call}):
                    assert call >= MIN_CALLS
                    break
            else:
                assert not EVERYTHING, f"a run makes more than {MAX_CALLS} calls"
        await hours.next("two concurrently", None, runs=2)

        assert len(hours.names) < DAYS * 24
        # The last day is closed only three minutes after the first run of the next day.
        await hours.crons((first_day + DAYS) * DAY_MS + MINUTE_MS, 1)
        await hours.crons((first_day + DAYS) * DAY_MS + 12 * MINUTE_MS, 12)
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        assert account["push"]["queue"] == 0
        assert sum(account["push"]["dropped"].values()) == 0

    first = first_day * 24
    async with open_store(config) as store:
        found = await store.read(totals.hour_counts(site["id"], first * HOUR_MS, (first + DAYS * 24) * HOUR_MS))
        stored = {hours.names[at // HOUR_MS - first]: (counts.views, counts.visitors) for at, counts in found}
        assert stored == dict.fromkeys(hours.names, (2 * PEOPLE, PEOPLE))
        days = await store.read(totals.day_counts(site["id"], first_day, first_day + DAYS))
        for day, (counts, _, final) in days.items():
            views = 2 * PEOPLE * len(hours.names[(day - first_day) * 24 :][:24])
            assert (counts.views, counts.visitors, final) == (views, PEOPLE, True)
