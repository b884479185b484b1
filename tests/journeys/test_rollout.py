"""A rollout of a newer version to real Workers halts if the new version is broken, and otherwise completes."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.emulator.client import Customer, Emulator
from edge_worker.harness.sampling import EVERYTHING
from edge_worker.harness.service import Service, eventually, open_service
from svc.store import open_store, rollouts
from svc.store.tx import sql
from svc.worker.bundle import load_bundle
from tests.databases import sqlite_config
from tests.journeys.conftest import free_port, settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from svc.model import Rollout
    from svc.store.rollouts import Progress
    from svc.store.tx import Store, Tx

ACCOUNTS = 12 if EVERYTHING else 5
DAY_S = 86_400


class Crons:
    """The platform's clock and crons. The platform's clock starts a day behind the service's clock, so that it is never
    ahead of it.
    """

    def __init__(self, emulator: Emulator, customers: list[Customer]) -> None:
        self.emulator, self.customers = emulator, customers
        self.behind_s = DAY_S

    async def begin(self) -> None:
        """Set the clock to yesterday."""
        await self.emulator.clock(-self.behind_s)

    async def fire(self, after_s: int) -> None:
        """Move the clock forward by `after_s`, and fire every Worker's cron once. Ignore failures."""
        self.behind_s -= after_s
        at = await self.emulator.clock(-self.behind_s)
        await self.emulator.crons([(one.account_id, at) for one in self.customers], "svc-edge")


def broken_bundle(good: Path, folder: Path) -> Path:
    """Copy the Worker in `good` to `folder`, with crons that always fail. Return `folder`."""
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
    """Connect an account and install its Worker."""
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
    await service.account_in(account["id"], "ready")


def state_of(bundle: str) -> Tx[tuple[Rollout | None, Progress, list[str]]]:
    """Return a bundle's rollout, its progress, and the bundle of each account."""
    found = yield from rollouts.current(bundle)
    accounts = yield sql("select edge_bundle from accounts")
    return found, (yield from rollouts.progress()), [row["edge_bundle"] for row in accounts]


def operations_begun() -> Tx[list[int]]:
    """Return the start times of the rollout's updates, in order."""
    rows = yield sql(
        "select o.created_at from rollout_accounts m join operations o on o.id = m.operation_id order by o.created_at"
    )
    return [row["created_at"] for row in rows]


async def ended(store: Store, bundle: str, crons: Crons, state: str) -> Any:
    """Fire crons until the bundle's rollout is in this state. Return the result of `state_of`."""

    async def poll() -> Any:
        found = await store.read(state_of(bundle))
        rollout, progress, _ = found
        if rollout is not None and rollout.state == state:
            return found
        # Fire crons only while no update is running. Otherwise, a Worker could be replaced in the middle of a push.
        if progress.counts["under_way"] and not await store.read(rollouts.working()):
            await crons.fire(0)
        return None

    return await eventually(poll)


@pytest.mark.rule("X7", "A21")
@pytest.mark.timeout(300)
async def test_rollout_of_a_broken_worker_halts_and_a_fixed_one_completes(
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
        "SVC_WORKER_CANARY_WAIT_S": "1",
        "SVC_WORKER_SPREAD_S": "1",
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
        rollout, progress, bundles = await ended(store, bundle, crons, "halted")
    assert (rollout.reason, rollout.spread_from) == ("failures", None)
    assert progress.codes == {"failed": {"self_check_timeout": 1}}
    assert sorted(bundles) == sorted([bundle, *[old] * (ACCOUNTS - 1)])

    bundle = load_bundle(next_bundle_folder).sha256
    async with open_service(tmp_path / "svc", settings, next_bundle_folder), open_store(config) as store:
        rollout, progress, bundles = await ended(store, bundle, crons, "done")
        begun = await store.read(operations_begun())
    assert bundles == [bundle] * ACCOUNTS
    assert progress.counts == {"updated": ACCOUNTS}
    assert (rollout.updated, rollout.failed) == (ACCOUNTS, 0)
    assert begun[0] < rollout.spread_from <= begun[1]  # the canary is updated first, and the other accounts after it
