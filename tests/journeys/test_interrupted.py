"""An interrupted connect operation reports remaining resources, and continues if possible.

test_killed.py tests interruptions at all moments.
"""

from __future__ import annotations

import httpx
import pytest
import trio

from edge_worker.harness.service import open_service
from tests.databases import sqlite_config
from tests.journeys.conftest import settings_of


@pytest.fixture
def settings(emulator, tmp_path):
    return settings_of(emulator, sqlite_config(tmp_path))


def connect_body(customer):
    return {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}


@pytest.mark.rule("A5", "A8")
async def test_connect_killed_before_its_token_is_stored_is_lost_and_can_be_repeated(
    emulator, customer, settings, tmp_path
):
    # Delay the first call that uses the new token. During this call, the token exists, but the service has not stored
    # it yet.
    await emulator.fault("slow", "*/workers/scripts", method="GET", delay_s=30)
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        headers = service.headers

        async def kill() -> None:
            await emulator.faulted()
            await service.kill()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill)
            with pytest.raises(httpx.TransportError):
                await service.call("POST", "/v1/accounts", connect_body(customer))
    await emulator.clear_faults()
    async with open_service(tmp_path / "svc", settings) as service:
        service.headers = headers
        [account] = (await service.call("GET", "/v1/accounts"))["accounts"]
        account = await service.account_in(account["id"], "bootstrap_lost")
        left = (await emulator.state())["accounts"][customer.account_id]["tokens"].values()
        assert account["error"]["details"]["revoke_token"] in {token["name"] for token in left}

        response = await service.call("POST", "/v1/accounts", connect_body(customer), expect=202)
        assert response["account"]["id"] == account["id"]
        await service.account_in(account["id"], "ready")
    held = (await emulator.state())["accounts"][customer.account_id]
    assert len(held["tokens"]) == 1


@pytest.mark.rule("A7", "A5")
async def test_connect_continues_with_the_same_request_after_a_temporary_failure(
    emulator, customer, settings, tmp_path
):
    await emulator.fault("drop_after", "*/tokens", method="POST", times=None)
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        refused = await service.call("POST", "/v1/accounts", connect_body(customer), expect=503, key="k")
        assert refused["error"]["code"] == "cloudflare_unavailable"
        [account] = (await service.call("GET", "/v1/accounts"))["accounts"]
        assert account["state"] == "pending"
        await emulator.clear_faults()
        response = await service.call("POST", "/v1/accounts", connect_body(customer), expect=202, key="k")
        assert response["account"]["id"] == account["id"]
        await service.account_in(account["id"], "ready")
        again = await service.call("POST", "/v1/accounts", connect_body(customer), expect=202, key="k")
        assert again == response
    held = (await emulator.state())["accounts"][customer.account_id]
    assert len(held["tokens"]) == 1
