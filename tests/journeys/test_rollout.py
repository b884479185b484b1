"""A newer worker comes to some accounts whose workers run for real: it halts where it is broken, and else it ends."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.emulator.client import Customer, Emulator
from edge_worker.harness.sampling import EVERYTHING
from edge_worker.harness.service import Service, eventually, open_service
from svc.clock import system_clock
from svc.model import WAVES, Rollout
from svc.store import open_store, rollouts, waves
from svc.store.tx import sql
from svc.worker.bundle import load_bundle
from tests.databases import sqlite_config
from tests.journeys.conftest import free_port, settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.tx import Store, Tx

# How many accounts get the worker in each wave: the canary, 1 %, 10 %, all that are left.
IN_WAVES = (1, 1, 2, 8) if EVERYTHING else (1, 1, 1, 2)
ACCOUNTS = sum(IN_WAVES)
# A worker pushes once an hour, and one that has nothing to send waits ten minutes for something.
BETWEEN_PUSHES_S = 75 * 60
DAY_S = 86_400


class Crons:
    """The platform's time, which begins yesterday, so that no worker is ahead of the service."""

    def __init__(self, emulator: Emulator, customers: list[Customer]) -> None:
        self.emulator, self.customers = emulator, customers
        self.behind_s = DAY_S

    async def begin(self) -> None:
        """Yesterday."""
        await self.emulator.clock(-self.behind_s)

    async def fire(self, after_s: int) -> None:
        """So much later every worker's cron fires once; what fails in it is the worker's own matter."""
        self.behind_s -= after_s
        at = await self.emulator.clock(-self.behind_s)
        await self.emulator.crons([(one.account_id, at) for one in self.customers], "svc-edge")


def broken_bundle(good: Path, folder: Path) -> Path:
    """The same worker, which fails at each of its crons."""
    shutil.copytree(good, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    module = folder / manifest["main_module"]
    text = module.read_text()
    assert text.count("async scheduled(") == 1
    head, _, body = text.partition("async scheduled(")
    arguments, _, rest = body.partition("{")
    module.write_text(f'{head}async scheduled({arguments}{{throw new Error("broken");{rest}')
    manifest["sha256"] = hashlib.sha256(module.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


async def connected(service: Service, customer: Customer) -> None:
    """An account with its worker in place."""
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
    await service.account_in(account["id"], "ready")


def state_of(bundle: str) -> Tx[tuple[Rollout | None, list[waves.Wave], list[str]]]:
    """The rollout of a bundle, how far its waves are, and the bundles that the accounts have."""
    found = yield from rollouts.current(bundle)
    accounts = yield sql("select edge_bundle from accounts")
    told = [] if found is None else (yield from waves.waves(found, 2, system_clock()))
    return found, told, [row["edge_bundle"] for row in accounts]


async def ended(store: Store, bundle: str, crons: Crons, state: str) -> Any:
    """What `state_of` tells, once the rollout of the bundle has come to this state; workers' crons fire meanwhile."""

    async def look() -> Any:
        found = await store.read(state_of(bundle))
        rollout, told, _ = found
        if rollout is not None and rollout.state == state:
            return found
        # Only once nothing is at work, or its worker would be replaced in the middle of a push.
        if not await store.read(waves.working()):
            if any(wave.counts["seen_once"] for wave in told):
                await crons.fire(BETWEEN_PUSHES_S)
            elif any(wave.counts["under_way"] for wave in told):
                await crons.fire(0)
        return None

    return await eventually(look)


@pytest.mark.rule("X7", "A21")
@pytest.mark.timeout(300)
async def test_a_broken_worker_halts_after_the_first_account_and_a_mended_one_comes_to_all(
    emulator: Emulator, tmp_path: Path, next_bundle_folder: Path
) -> None:
    crons = Crons(emulator, [])
    await crons.begin()
    for number in range(ACCOUNTS):
        crons.customers.append(await emulator.create_account(subdomain=f"customer-{number}"))
    config = sqlite_config(tmp_path)
    settings = {
        **settings_of(emulator, config),
        "SVC_HTTP_BIND": free_port(),
        "SVC_LIMITS_ACCOUNTS": str(ACCOUNTS),
        "SVC_WORKER_CANARY": crons.customers[3].account_id,
        "SVC_TIMING_ROLLOUT_EVERY_S": "0.2",
        "SVC_TIMING_WAVE_S": "1",
    }
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        for customer in crons.customers:
            await connected(service, customer)
        await crons.fire(0)
    old = load_bundle().sha256

    broken = broken_bundle(next_bundle_folder, tmp_path / "broken")
    bundle = load_bundle(broken).sha256
    async with (
        open_service(tmp_path / "svc", {**settings, "SVC_TIMING_SELFCHECK_WINDOW_S": "2"}, broken),
        open_store(config) as store,
    ):
        rollout, told, bundles = await ended(store, bundle, crons, "halted")
    assert (rollout.reason, rollout.wave, told[0].failed) == ("failures", 0, {"self_check_timeout": 1})
    assert sorted(bundles) == sorted([bundle, *[old] * (ACCOUNTS - 1)])

    bundle = load_bundle(next_bundle_folder).sha256
    async with open_service(tmp_path / "svc", settings, next_bundle_folder), open_store(config) as store:
        rollout, told, bundles = await ended(store, bundle, crons, "done")
    assert bundles == [bundle] * ACCOUNTS
    assert [dict(wave.counts) for wave in told] == [{"updated": number} for number in IN_WAVES]
    assert (rollout.updated, rollout.failed, len(told)) == (ACCOUNTS, 0, len(WAVES))
