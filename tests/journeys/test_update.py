"""A newer service updates the Worker and its tables during traffic. No event is lost or counted twice."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually, open_service
from svc.clock import HOUR_MS
from svc.worker.bundle import load_bundle
from tests.databases import sqlite_config
from tests.journeys.conftest import ZONE, begin_yesterday, connect, crons, free_port, settings_of
from tests.journeys.lifecycle import FAULTS, Draws, connected
from tests.journeys.mortal import open_mortal_service
from tests.journeys.traffic import MINUTE_MS, Traffic, close_day, stored

if TYPE_CHECKING:
    from pathlib import Path

    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service
    from tests.journeys.lifecycle import World

# The usual number of platform calls in an update, and the usual number of its moments as counted by `mortal`.
CALLS, MOMENTS = 9, 35
# The sample sizes in `make test`. `make test-all` tests all moments, and all calls with all failures.
CALLS_DRAWN, MOMENTS_DRAWN = 2, 1


@pytest.mark.rule("X7", "A21")
@pytest.mark.timeout(300)
async def test_update_during_traffic_neither_loses_nor_duplicates_events(
    emulator: Emulator, customer: Customer, tmp_path: Path, next_bundle_folder: Path
) -> None:
    store = sqlite_config(tmp_path)
    settings = settings_of(emulator, store, SVC_HTTP_BIND=free_port(), SVC_TIMING_ROLLOUT_EVERY_S="0.3")
    real, noon = await begin_yesterday(emulator, after_ms=2 * HOUR_MS)
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        headers = service.headers
        account_id = await connect(service, customer)
        new = {"account_id": account_id, "host": ZONE}
        site = (await service.call("POST", "/v1/sites", new, expect=202))["site"]
        new = {"account_id": account_id, "url": "https://a.example/x"}
        link = (await service.call("POST", "/v1/links", new, expect=201))["link"]
        await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")
        # The Worker confirms its installation, and then folds some events before the update.
        await crons(emulator, customer, real, noon + 12 * MINUTE_MS, 2)
        traffic = Traffic(emulator, site["path"], link["code"])
        await traffic.visits(20)
        await crons(emulator, customer, real, noon + 62 * MINUTE_MS, 5)
        before = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]

    # At this time, there are events in the log, in pages and in memory. The migration and the upload are slow, so that
    # visits arrive during them.
    await emulator.fault("slow", "*/d1/database/*/query", method="POST", delay_s=0.3, times=4)
    await emulator.fault("drop_after", "*/workers/scripts/svc-edge", method="PUT")
    await emulator.fault("slow", "*/workers/scripts/svc-edge", method="PUT", delay_s=0.5)
    async with open_service(tmp_path / "svc", settings, next_bundle_folder) as service:
        service.headers = headers
        account = await traffic.until_updated(service, account_id)
        assert not await emulator.faults(), "some faults were not met"
        assert (account["edge"]["schema"], account["operation"]["step"]) == (
            load_bundle(next_bundle_folder).schema,
            "selfcheck",
        )
        assert account["edge"]["bundle"] != before["edge"]["bundle"]
        await crons(emulator, customer, real, noon + 70 * MINUTE_MS, 2)
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        assert (account["operation"]["state"], account["push"]["schema"]) == (
            "done",
            account["edge"]["schema"],
        )  # the first push of the new Worker confirms the update
        await close_day(emulator, customer, real, noon)
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        assert (account["push"]["queue"], sum(account["push"]["dropped"].values())) == (0, 0)
    assert traffic.sent > 40
    assert await stored(store, site["id"], noon) == (traffic.sent, min(traffic.sent, 200))
    assert await stored(store, link["id"], noon) == (traffic.sent, min(traffic.sent, 200))


@pytest.mark.rule("X7", "A21", "A13")
@pytest.mark.timeout(1_200)
async def test_next_start_completes_an_update_killed_at_any_moment(world: World, next_bundle_folder: Path) -> None:
    """Kill the service at random moments, as in test_killed.py. Here, the service starts the operation
    automatically.
    """
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    settings = {**world.settings, "SVC_TIMING_ROLLOUT_EVERY_S": "0.5"}
    moments = Draws(chance, MOMENTS, MOMENTS_DRAWN)
    for moment in moments:
        print(f"moment {moment}")
        world.customer = None
        async with open_mortal_service(world.folder, settings) as service:
            service.headers = world.headers
            await connected(world, service)
            await confirmed(world, service)
        async with open_mortal_service(world.folder, settings, moment, bundle=next_bundle_folder) as service:
            service.headers = world.headers
            service.arm()
            try:
                await eventually(lambda service=service: in_place(world, service))  # type: ignore[misc]
                moments.existed = False
            except httpx.TransportError:
                await service.ended()
        async with open_mortal_service(world.folder, settings, bundle=next_bundle_folder) as service:
            service.headers = world.headers
            account = await eventually(lambda service=service: in_place(world, service))  # type: ignore[misc]
            await world.check_consistent(account)
            assert account["edge"]["schema"] == load_bundle(next_bundle_folder).schema
            await confirmed(world, service)
        world.check_secrets()


@pytest.mark.rule("X7", "A21", "A12")
@pytest.mark.timeout(1_800)
async def test_failure_of_any_call_of_an_update_leaves_the_account_unchanged(
    world: World, next_bundle_folder: Path
) -> None:
    """One call fails, as in test_faulted.py. The rollout retries the update hours later, but users can start an install
    immediately.
    """
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    settings = {**world.settings, "SVC_TIMING_ROLLOUT_EVERY_S": "0.5"}
    settings |= {"SVC_EDGE_TIMEOUT_S": "2", "SVC_TIMING_RECHECK_S": "0.2"}
    for name in sorted(FAULTS) if EVERYTHING else chance.sample(sorted(FAULTS), CALLS_DRAWN):
        calls = Draws(chance, CALLS)
        for call in calls:
            print(f"{name} at call {call}")
            world.customer = None
            async with open_mortal_service(world.folder, settings) as service:
                service.headers = world.headers
                await connected(world, service)
                await confirmed(world, service)
            await world.emulator.fault(**FAULTS[name], after=call - 1)
            async with open_mortal_service(world.folder, settings, bundle=next_bundle_folder) as service:
                service.headers = world.headers
                account = await eventually(lambda service=service: ended(world, service))  # type: ignore[misc]
                waiting = await world.emulator.faults()
                await world.emulator.clear_faults()
                if account["operation"]["state"] == "failed":
                    assert not account["edge"]["up_to_date"]
                    await eventually(lambda service=service: is_ready(world, service))  # type: ignore[misc]
                    await service.call("POST", f"/v1/accounts/{world.account_id}/install", expect=202)
                    account = await world.settled(service)
                    assert account is not None
                assert (account["state"], account["edge"]["schema"]) == (
                    "ready",
                    load_bundle(next_bundle_folder).schema,
                )
                assert account["edge"]["up_to_date"]
                await world.check_consistent(account)
                await confirmed(world, service)
            calls.existed = not waiting
    world.check_secrets()


async def in_place(world: World, service: Service) -> Any:
    """Return the account once the new Worker is installed. The account must be ready throughout."""
    account = await world.account(service)
    assert account is not None
    assert account["state"] == "ready", account
    ended = account["operation"]["state"] == "done" or account["operation"]["step"] == "selfcheck"
    return account if account["edge"]["up_to_date"] and account["operation"]["kind"] == "update" and ended else None


async def ended(world: World, service: Service) -> Any:
    """Return the account once its update has ended, or is only waiting for the Worker's first push."""
    account = await world.account(service)
    assert account is not None
    operation = account["operation"]
    over = operation["state"] != "running" or operation["step"] == "selfcheck"
    return account if operation["kind"] == "update" and over else None


async def is_ready(world: World, service: Service) -> bool | None:
    """Return True if the account is ready. After a rejected call, the account may not be ready again until the next
    health check.
    """
    account = await world.account(service)
    assert account is not None
    return account["state"] == "ready" or None


async def confirmed(world: World, service: Service) -> None:
    """Run the Worker's cron, so that the Worker confirms its installation."""
    run = await world.emulator.cron(world.edge_account_id, "svc-edge")
    assert run["outcome"] == "ok"
    account = await world.account(service)
    assert account is not None
    assert account["operation"]["state"] == "done", account
