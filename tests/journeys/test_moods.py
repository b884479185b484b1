"""The main job while the emulated platform is rude in ways drawn at random: slow, forgetful, refusing now and then."""

from __future__ import annotations

import random
from typing import Any

import pytest

from edge_worker.emulator.client import Customer, Emulator
from edge_worker.harness.sampling import SEED
from edge_worker.harness.service import Service
from svc.edge.tokens import WORKING_RIGHTS
from tests.journeys.conftest import RUDE_PLATFORM

ZONE = "shop.example"
# Each knob with values to draw from; what they mean is told in edge_worker/emulator/__init__.py.
KNOBS: dict[str, tuple[Any, ...]] = {
    "token_delay_ms": (0, 200, 3_000),
    "token_spread_ms": (0, 2_000, 6_000),
    "minting": ("all_zones", "held", "silent"),
    "slow_one_in": (0, 5, 50),
    "slow_ms": (20, 150),
    "refuse_one_in": (0, 30, 200),
    "firewall": (True, False),
    "ignores_fail_open": (True, False),
    "rate_limit": (0, 1_200),
}
BOOTSTRAP_RIGHTS = ["Account Settings Read", "Account API Tokens Write"]


@pytest.mark.parametrize("walk", range(2))
@pytest.mark.timeout(240)
@RUDE_PLATFORM
async def test_the_main_job_is_done_whatever_mood_the_platform_is_in(
    emulator: Emulator, customer: Customer, service: Service, walk: int
) -> None:
    """Another walk each time; SVC_TEST_SEED makes the one again that a failure has printed."""
    chance = random.Random(f"{SEED} {walk}")  # to make the same again, not to keep a secret
    modes = {name: chance.choice(values) for name, values in KNOBS.items()}
    print(f"{modes}")
    await emulator.set_rudeness(**modes)
    token = customer.bootstrap_token
    if modes["minting"] != "all_zones":  # it gives only what it holds
        rights = [*BOOTSTRAP_RIGHTS, *(right.name for right in WORKING_RIGHTS)]
        _, token = await emulator.create_token(customer.account_id, rights=rights)
    body = {"edge_account_id": customer.account_id, "bootstrap_token": token}
    account_id = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
    await service.account_in(account_id, "ready")
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{ZONE}"}, expect=202)
    site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": ZONE}))["site"]
    url = "https://example.org/?q='+or+1=1--&file=../../etc/passwd"
    link = (await service.call("POST", "/v1/links", {"account_id": account_id, "url": url}))["link"]
    await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")

    answer = await emulator.visit(f"go.{ZONE}", f"/{link['code']}", headers={"User-Agent": "Mozilla/5.0 Firefox/143.0"})
    assert (answer.status, answer.headers["location"]) == (302, url)
    await emulator.settled()
    await emulator.cron(customer.account_id, "svc-edge")
    report = (await service.call("GET", f"/v1/links/{link['id']}/report?period=7d"))["report"]
    assert report["unavailable"] is None
    assert report["totals"]["views"] + report["totals"]["bots"] == 1
