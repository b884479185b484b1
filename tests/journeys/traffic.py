"""Visits while a newer service updates the Worker, and the counts that the service has afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from edge_worker.harness.service import eventually
from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.clock import DAY_MS, HOUR_MS
from svc.store import open_store, totals
from tests.journeys.conftest import PUSHED_BY_MS, ZONE, crons

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service
    from svc.config import StoreConfig

MINUTE_MS = 60_000
AGENT = {"user-agent": DESKTOP_CHROME.user_agent}


class Traffic:
    """Alternating views of a site and clicks on a link. `sent`: the number of pairs that got both responses."""

    def __init__(self, emulator: Emulator, path: str, code: str) -> None:
        self.emulator, self.path, self.code = emulator, path, code
        self.sent = 0
        self.is_running = True

    async def visit(self) -> None:
        """Send a view and a click. Successive calls use different IP addresses."""
        ip = f"192.0.2.{self.sent % 200}"
        view = await self.emulator.visit(ZONE, self.path, method="POST", body="/\n", ip=ip, headers=AGENT)
        click = await self.emulator.visit(f"go.{ZONE}", f"/{self.code}", ip=ip, headers=AGENT)
        assert (view.status, click.status) == (204, 302)
        self.sent += 1

    async def run(self) -> None:
        """Send visits until `is_running` is False."""
        while self.is_running:
            await self.visit()

    async def visits(self, number: int) -> None:
        """Send this many visits, and wait until the Worker has stored them."""
        for _ in range(number):
            await self.visit()
        await self.emulator.settled()

    async def until_updated(self, service: Service, account_id: str) -> Any:
        """Send visits until the account's Worker is updated, and then 20 more. Return the account after the update."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.run)
            account = await eventually(lambda: updated(service, account_id))
            sent = self.sent
            while self.sent < sent + 20:
                await trio.lowlevel.checkpoint()
            self.is_running = False
        await self.emulator.settled()
        return account


async def updated(service: Service, account_id: str) -> Any:
    """Return the account once its update only waits for the new Worker's push. The account must be ready throughout."""
    account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
    assert account["state"] == "ready", account
    operation = account["operation"]
    return account if (operation["kind"], operation["step"]) == ("update", "selfcheck") else None


async def close_day(emulator: Emulator, customer: Customer, real: int, noon: int) -> None:
    """Run the crons in which the Worker closes and pushes all hours of the day that includes `noon` (epoch ms).

    `real`: as in `crons`.
    """
    for end in (noon + 3 * HOUR_MS, noon + 12 * HOUR_MS):
        await crons(emulator, customer, real, end + 12 * MINUTE_MS, 6)
        await crons(emulator, customer, real, end + PUSHED_BY_MS, 4)


async def stored(config: StoreConfig, target: str, noon: int) -> tuple[int, int]:
    """Return the stored views and visitors for the day that includes `noon` (epoch ms). The day must be final."""
    day = noon // DAY_MS
    async with open_store(config) as store:
        counts, _, final = (await store.read(totals.day_counts(target, day, day)))[day]
    assert final
    return counts.views, counts.visitors
