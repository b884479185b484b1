"""With `svc user delete`, the running service disconnects the accounts and reports remaining resources."""

from __future__ import annotations

import json

from edge_worker.harness.service import environment, eventually, open_service
from edge_worker.programs import run_program
from tests.journeys.conftest import connect, settings_of


async def svc(folder, settings, *arguments):
    ended = await run_program(["-m", "svc", *arguments], environ=environment(folder, settings))
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


async def test_operator_deletes_users_while_a_service_is_running(emulator, customer, store_config, tmp_path):
    settings = settings_of(emulator, store_config, SVC_TIMING_COMMANDS_EVERY_S="0.2")
    folder = tmp_path / "svc"
    async with open_service(folder, settings) as service:
        await service.sign_up("other@example.com", "a long password")
        await service.sign_up("a@example.com", "a long password")
        account_id = await connect(service, customer)
        assert await svc(folder, settings, "user", "disable", "a@example.com") == (0, "", "")
        status, stdout, stderr = await svc(folder, settings, "user", "delete", "a@example.com", "--yes", "--json")
        assert (status, stderr) == (0, "")
        facts = json.loads(stdout)
        [token] = facts.pop("revoke_tokens")  # the working token remains, because a token cannot delete itself
        assert customer.account_id in token
        assert facts == {"email": "a@example.com", "state": "deleted", "left": []}
        held = (await emulator.state())["accounts"][customer.account_id]
        assert (held["scripts"], held["databases"]) == ({}, {})
        await service.call("GET", f"/v1/accounts/{account_id}", expect=401)
        listed = (await svc(folder, settings, "user", "list", "--json"))[1].splitlines()
        assert [json.loads(line)["email"] for line in listed] == ["other@example.com"]
        # The deleted address can be used again, and the deletion of the new user has nothing to report.
        body = {"email": "a@example.com", "password": "another long one"}
        await service.call("POST", "/auth/sign-up", body, expect=202)
        status, stdout, _ = await svc(folder, settings, "user", "delete", "a@example.com", "--yes")
        assert (status, stdout) == (0, "deleted\n")


async def test_deletion_begun_without_a_service_takes_place_at_its_start(emulator, customer, store_config, tmp_path):
    settings = settings_of(emulator, store_config)
    folder = tmp_path / "svc"
    async with open_service(folder, settings) as service:
        await service.sign_up("a@example.com", "a long password")
        await connect(service, customer)
    _, stdout, _ = await svc(folder, settings, "user", "delete", "a@example.com", "--yes", "--json")
    assert json.loads(stdout)["state"] == "begun"
    async with open_service(folder, settings):

        async def gone():
            held = (await emulator.state())["accounts"][customer.account_id]
            return (held["scripts"], held["databases"]) == ({}, {}) or None

        await eventually(gone)
