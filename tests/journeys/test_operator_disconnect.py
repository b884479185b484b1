"""`svc account disconnect` while the service is running: several users, kills, invalid tokens, and two commands."""

from __future__ import annotations

import json

import pytest
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually, open_service
from edge_worker.local_http import local_client
from tests.journeys.conftest import connect, settings_of
from tests.journeys.test_operator_deletion import svc

POLLS = {"SVC_TIMING_COMMANDS_EVERY_S": "0.2"}
PASSWORD = "a long password"


async def connect_users(emulator, service, number):
    """Sign up users, each with an account with a site and a link host. Return (user, account id, customer) tuples."""
    found = []
    for index in range(number):
        zone = f"shop{index}.example"
        customer = await emulator.create_account([proxied_zone(zone)])
        email = f"user{index}@example.com"
        await service.sign_up(email, PASSWORD)
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account_id = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
        await service.account_in(account_id, "ready")
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"}, expect=202)
        site = await service.call("POST", "/v1/sites", {"account_id": account_id, "host": zone}, expect=202)
        await service.synced(f"/v1/sites/{site['site']['id']}")
        found.append((email, account_id, customer))
    return found


async def held_of(emulator, customer):
    held = (await emulator.state())["accounts"][customer.account_id]
    routes = [route["pattern"] for zone in held["zones"].values() for route in zone["routes"]]
    return [*held["scripts"], *held["databases"], *routes]


async def delete_working_token(emulator, customer):
    _, root = await emulator.create_token(customer.account_id, rights=["Account API Tokens Write"])
    headers = {"Authorization": f"Bearer {root}"}
    async with local_client(base_url=emulator.api, headers=headers) as client:
        path = f"/accounts/{customer.account_id}/tokens"
        for token in (await client.get(path)).json()["result"]:
            if token["name"].startswith("svc-op_"):
                assert (await client.delete(f"{path}/{token['id']}")).is_success


@pytest.mark.timeout(300)
async def test_operator_disconnects_all_accounts_through_a_kill(emulator, store_config, tmp_path):
    settings, folder = settings_of(emulator, store_config, **POLLS), tmp_path / "svc"
    async with open_service(folder, settings) as service:
        users = await connect_users(emulator, service, 3)
        # One user has deleted the working token.
        _, revoked_id, revoked = users[1]
        await delete_working_token(emulator, revoked)
        # The calls that delete the Workers get no response before the service is killed.
        await emulator.fault("slow", "*/workers/scripts/svc-edge", method="DELETE", delay_s=600, times=None)
        ended = []

        async def disconnect_all():
            ended.append(await svc(folder, settings, "account", "disconnect", "--all", "--yes", "--json"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(disconnect_all)
            await emulator.faulted()
            await service.kill()
        [(status, stdout, stderr)] = ended
        assert status == 1
        assert "the service has stopped" in stderr
        first = [json.loads(line) for line in stdout.splitlines()]
    await emulator.clear_faults()
    assert (await svc(folder, settings, "account", "disconnect", "--all", "--yes"))[0] in (0, 1)
    async with open_service(folder, settings):
        # Two commands can disconnect the same accounts at the same time. Both wait until the service has finished.
        results = []

        async def disconnect_again():
            results.append(await svc(folder, settings, "account", "disconnect", "--all", "--yes", "--json"))

        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(disconnect_again)
        assert [status for status, _, _ in results] == [0, 0]

        async def ended_all():
            listed = await svc(folder, settings, "account", "list", "--disconnected", "--json")
            found = {one["id"]: one for one in map(json.loads, listed[1].splitlines())}
            return found if len(found) == len(users) else None

        found = await eventually(ended_all)
        assert {one["user"] for one in found.values()} == {email for email, _, _ in users}
        assert all(one["by_operator"] for one in found.values())
        for _, account_id, customer in users:
            left = found[account_id]["left"]
            if account_id == revoked_id:
                assert len(left) == 4
                assert all("the working token no longer works" in sentence for sentence in left)
                assert await held_of(emulator, customer)
            else:
                assert left == []
                assert found[account_id]["revoke_token"]
                assert await held_of(emulator, customer) == []
            shown = await svc(folder, settings, "account", "show", customer.account_id, "--json")
            assert json.loads(shown[1]) == found[account_id]
        assert all(one in found.values() for one in first)
        status, stdout, stderr = await svc(folder, settings, "account", "disconnect", "--all", "--yes")
        assert (status, stdout, stderr) == (0, "no account is connected\n", "")


@pytest.mark.timeout(300)
async def test_disconnect_waits_for_cloudflare_unless_it_is_forced(emulator, customer, store_config, tmp_path):
    settings, folder = settings_of(emulator, store_config, **POLLS, SVC_EDGE_CONNECT_S="3"), tmp_path / "svc"
    async with open_service(folder, settings) as service:
        await service.sign_up("a@example.com", PASSWORD)
        account_id = await connect(service, customer)
        await emulator.fault("drop_before", "*", times=None)
        results = []

        async def disconnect():
            results.append(await svc(folder, settings, "account", "disconnect", account_id, "--yes"))

        async def waiting():
            shown = await svc(folder, settings, "account", "show", account_id, "--json")
            return json.loads(shown[1]).get("waits_for") == "unreachable" or None

        async with trio.open_nursery() as nursery:
            nursery.start_soon(disconnect)
            await eventually(waiting)
            status, stdout, _ = await svc(folder, settings, "account", "disconnect", account_id, "--yes", "--force")
            assert status == 0
            assert "Worker svc-edge: Cloudflare returned an error or could not be reached." in stdout
        [(status, stdout, stderr)] = results
        assert status == 0
        assert "waiting: Cloudflare does not respond" in stderr
        assert await held_of(emulator, customer)
        # A repeated command prints the result again.
        assert (await svc(folder, settings, "account", "disconnect", account_id))[1] in stdout
    status, stdout, _ = await svc(folder, settings, "account", "disconnect", customer.account_id)
    assert (status, "disconnected" in stdout) == (0, True)


async def test_disconnect_without_a_service_is_refused(emulator, customer, store_config, tmp_path):
    settings, folder = settings_of(emulator, store_config), tmp_path / "svc"
    async with open_service(folder, settings) as service:
        await service.sign_up("a@example.com", PASSWORD)
        account_id = await connect(service, customer)
    for which in (account_id, "--all"):
        status, stdout, stderr = await svc(folder, settings, "account", "disconnect", which, "--yes")
        assert (status, stdout) == (1, "")
        assert stderr.startswith("svc: the service is not running; start it with svc serve")
    async with open_service(folder, settings) as service:  # the new service has no disconnects to carry out
        listed = await svc(folder, settings, "account", "list", "--json")
        assert [json.loads(line)["disconnecting"] for line in listed[1].splitlines()] == [False]
