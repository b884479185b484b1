"""The main use case works with random failure settings of the emulated platform."""

from __future__ import annotations

import random
from typing import Any

import pytest

from edge_worker.emulator.client import Customer, Emulator
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import Service
from svc.edge.tokens import WORKING_PERMISSIONS
from tests.journeys.conftest import STRICT_PLATFORM

ZONE = "shop.example"
# Each setting with its possible values. edge_worker/emulator/__init__.py explains the settings.
SETTINGS: dict[str, tuple[Any, ...]] = {
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
BOOTSTRAP_PERMISSIONS = ["Account Settings Read", "Account API Tokens Write"]


@pytest.mark.parametrize("walk", range(3 if EVERYTHING else 1))
@pytest.mark.timeout(240)
@STRICT_PLATFORM
async def test_main_use_case_works_with_random_failure_settings(
    emulator: Emulator, customer: Customer, service: Service, walk: int
) -> None:
    """Each run uses a different combination of values. Set SVC_TEST_SEED to repeat a failed run."""
    chance = random.Random(f"{SEED} {walk}")  # seeded, so that a run can be reproduced; it is not used for secrets
    modes = {name: chance.choice(values) for name, values in SETTINGS.items()}
    print(f"{modes}")
    await emulator.set_failure_settings(**modes)
    token = customer.bootstrap_token
    if modes["minting"] != "all_zones":  # the token can grant only its own permissions, so it needs more of them
        rights = [*BOOTSTRAP_PERMISSIONS, *(right.name for right in WORKING_PERMISSIONS)]
        _, token = await emulator.create_token(customer.account_id, rights=rights)
    body = {"edge_account_id": customer.account_id, "bootstrap_token": token}
    account_id = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
    await service.account_in(account_id, "ready")
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{ZONE}"}, expect=202)
    site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": ZONE}))["site"]
    url = "https://example.org/?q='+or+1=1--&file=../../etc/passwd"
    link = (await service.call("POST", "/v1/links", {"account_id": account_id, "url": url}))["link"]
    await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")

    response = await emulator.visit(
        f"go.{ZONE}", f"/{link['code']}", headers={"User-Agent": "Mozilla/5.0 Firefox/143.0"}
    )
    assert (response.status, response.headers["location"]) == (302, url)
    await emulator.settled()
    await emulator.cron(customer.account_id, "svc-edge")
    report = (await service.call("GET", f"/v1/links/{link['id']}/report?period=7d"))["report"]
    assert report["unavailable"] is None
    assert report["totals"]["views"] + report["totals"]["bots"] == 1
