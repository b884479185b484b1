"""Tests of the emulator's accuracy: the platform's official Python SDK parses every response strictly."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import cloudflare
import httpx
import pytest
import trio
from cloudflare import Cloudflare

from tests.emulator.clients import PROBE, WORKING_PERMISSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from edge_worker.emulator.client import Customer, Emulator

ALL_RIGHTS = [*WORKING_PERMISSIONS, "Account API Tokens Write"]


@pytest.fixture
async def sdk(emulator: Emulator, customer: Customer) -> AsyncIterator[Cloudflare]:
    """The SDK with all permissions on the customer's account. It raises an error if a response has wrong types."""
    _, value = await emulator.create_token(customer.account_id, rights=ALL_RIGHTS)
    with sdk_with(emulator, value) as opened:
        yield opened


def sdk_with(emulator: Emulator, value: str) -> Cloudflare:
    return Cloudflare(
        api_token=value, base_url=emulator.api, max_retries=0, _strict_response_validation=True,
        http_client=httpx.Client(trust_env=False, timeout=30),
    )  # fmt: skip


async def ask(call: Callable[..., Any], **arguments: Any) -> Any:
    """Run one call of the synchronous SDK in a thread. If the call lists items, return the items of all pages."""

    def run() -> Any:
        response = call(**arguments)
        return list(response) if hasattr(response, "iter_pages") else response

    return await trio.to_thread.run_sync(run)


async def test_tokens(emulator: Emulator, customer: Customer, sdk: Cloudflare) -> None:
    tokens = sdk.accounts.tokens
    account = {"account_id": customer.account_id}
    groups = await ask(tokens.permission_groups.list, **account)
    assert set(ALL_RIGHTS) <= {group.name for group in groups}
    [zone_read] = await ask(tokens.permission_groups.list, name="Zone Read", **account)
    policy = {
        "effect": "allow",
        "permission_groups": [{"id": zone_read.id}],
        "resources": {f"com.cloudflare.api.account.{customer.account_id}": {"com.cloudflare.api.account.zone.*": "*"}},
    }
    made = await ask(tokens.create, name="sdk", policies=[policy], expires_on="2099-01-01T00:00:00Z", **account)
    assert made.value.startswith("cfat_")
    for number in range(7):  # seven items need more than one page
        await ask(tokens.create, name=f"more {number}", policies=[policy], **account)
    listed = await ask(tokens.list, **account)
    assert made.id in {token.id for token in listed}
    assert len({token.id for token in listed}) == len(listed) == 10
    got = await ask(tokens.get, token_id=made.id, **account)
    assert (got.name, got.status) == ("sdk", "active")
    policy_again = {"effect": "allow", "permission_groups": [{"id": zone_read.id}], "resources": policy["resources"]}
    changed = await ask(tokens.update, token_id=made.id, name="renamed", policies=[policy_again], **account)
    assert changed.name == "renamed"
    rolled = await ask(tokens.value.update, token_id=made.id, **account)
    with sdk_with(emulator, rolled) as working:
        verified = await ask(working.accounts.tokens.verify, **account)
    assert (verified.id, verified.status) == (made.id, "active")
    assert (await ask(tokens.delete, token_id=made.id, **account)).id == made.id
    with pytest.raises(cloudflare.AuthenticationError):
        await ask(sdk.user.tokens.verify)


async def test_account_zones_and_records(customer: Customer, sdk: Cloudflare) -> None:
    assert (await ask(sdk.accounts.get, account_id=customer.account_id)).id == customer.account_id
    [zone] = await ask(sdk.zones.list, account={"id": customer.account_id}, name="shop.example", status="active")
    assert (zone.name, zone.paused, zone.account.id) == ("shop.example", False, customer.account_id)
    assert (await ask(sdk.zones.get, zone_id=zone.id)).name_servers
    records = await ask(sdk.dns.records.list, zone_id=zone.id)
    assert {(record.type, record.name, record.proxied) for record in records} == {
        ("A", "shop.example", True),
        ("A", "www.shop.example", True),
        ("AAAA", "*.shop.example", True),
    }
    exact = await ask(sdk.dns.records.list, zone_id=zone.id, name={"exact": "shop.example"}, proxied=True)
    assert [record.name for record in exact] == ["shop.example"]
    kv = await ask(sdk.kv.namespaces.list, account_id=customer.account_id)
    assert kv == []


async def test_databases(customer: Customer, sdk: Cloudflare) -> None:
    databases, account = sdk.d1.database, {"account_id": customer.account_id}
    made = await ask(databases.create, name="counts", primary_location_hint="weur", **account)
    for number in range(4):
        await ask(databases.create, name=f"more-{number}", **account)
    assert len(await ask(databases.list, per_page=2, **account)) == 5
    [found] = await ask(databases.list, name="counts", **account)
    assert found.uuid == made.uuid
    assert (await ask(databases.get, database_id=made.uuid, **account)).file_size > 0
    query = partial(databases.query, database_id=made.uuid, **account)
    [created] = await ask(query, sql="create table hit (what text)")
    assert created.success
    [inserted] = await ask(query, sql="insert into hit values (?), (?)", params=["a", "b"])
    assert (inserted.meta.rows_written, inserted.meta.changes) == (2, 2)
    _, selected = await ask(query, batch=[{"sql": "delete from hit where what = 'a'"}, {"sql": "select * from hit"}])
    assert selected.results == [{"what": "b"}]
    [raw] = await ask(databases.raw, database_id=made.uuid, sql="select * from hit", **account)
    assert (raw.results.columns, raw.results.rows) == (["what"], [["b"]])
    with pytest.raises(cloudflare.BadRequestError, match="no such table"):
        await ask(query, sql="select * from missing")
    await ask(databases.delete, database_id=made.uuid, **account)
    with pytest.raises(cloudflare.NotFoundError):
        await ask(databases.get, database_id=made.uuid, **account)


@pytest.fixture
def upload(sdk: Cloudflare, customer: Customer) -> Callable[..., Any]:
    """A function that uploads PROBE with the SDK. In the SDK's multipart form, the module's part is named `files`."""

    def made(bindings: Any) -> Any:
        return sdk.workers.scripts.update(
            "probe", account_id=customer.account_id,
            metadata={"main_module": "probe.js", "compatibility_date": "2026-04-01", "bindings": bindings},
            files=[("probe.js", PROBE.encode(), "application/javascript+module")],
        )  # fmt: skip

    return made


async def test_scripts(emulator: Emulator, customer: Customer, sdk: Cloudflare, upload: Callable[..., Any]) -> None:
    scripts = sdk.workers.scripts
    named = {"script_name": "probe", "account_id": customer.account_id}
    database = await ask(sdk.d1.database.create, name="counts", account_id=customer.account_id)
    bindings = [
        {"type": "d1", "name": "DB", "id": database.uuid},
        {"type": "plain_text", "name": "NAME", "text": "sdk"},
        {"type": "secret_text", "name": "KEY", "text": "s"},
    ]
    made = await ask(upload, bindings=bindings)
    assert (made.id, made.handlers) == ("probe", ["fetch", "scheduled"])
    assert [script.etag for script in await ask(scripts.list, account_id=customer.account_id)] == [made.etag]
    assert "scheduled(controller" in await ask(scripts.get, **named)
    settings = await ask(scripts.script_and_version_settings.get, **named)
    assert {(binding.type, binding.name) for binding in settings.bindings} == {
        ("d1", "DB"), ("plain_text", "NAME"), ("secret_text", "KEY"),
    }  # fmt: skip
    changed = await ask(scripts.settings.edit, tags=["owner:svc"], **named)
    assert (changed.tags, (await ask(scripts.settings.get, **named)).tags) == (["owner:svc"], ["owner:svc"])
    schedules = await ask(scripts.schedules.update, body=[{"cron": "*/5 * * * *"}], **named)
    assert [schedule.cron for schedule in schedules.schedules] == ["*/5 * * * *"]
    assert len((await ask(scripts.schedules.get, **named)).schedules) == 1
    await ask(scripts.subdomain.create, enabled=False, previews_enabled=False, **named)
    assert (await ask(scripts.subdomain.get, **named)).enabled is False
    assert (await ask(sdk.workers.subdomains.get, account_id=customer.account_id)).subdomain
    await ask(scripts.secrets.update, name="MORE", text="t", type="secret_text", **named)
    assert {secret.name for secret in await ask(scripts.secrets.list, **named)} == {"KEY", "MORE"}
    await ask(scripts.secrets.delete, secret_name="MORE", **named)
    # Use the raw response, because the SDK expects `items` in a list of deployments, but the platform and wrangler use
    # `deployments`.
    deployments = (await ask(scripts.deployments.with_raw_response.list, **named)).json()["result"]["deployments"]
    assert len(deployments) == 3
    assert len(await ask(scripts.versions.list, **named)) == 3
    version = deployments[0]["versions"][0]["version_id"]
    # Use the raw response, because the SDK's type for a version fails with pydantic 2.14.
    got = await ask(scripts.versions.with_raw_response.get, version_id=version, **named)
    assert got.json()["result"]["number"] == 3
    content = await ask(scripts.content.get, **named)
    assert b"scheduled(controller" in content.read()

    zone = customer.zones["shop.example"]
    route = await ask(sdk.workers.routes.create, zone_id=zone, pattern="shop.example/*", script="probe")
    assert (await emulator.visit("shop.example", "/x")).body == "probe sdk /x"
    assert [r.id for r in await ask(sdk.workers.routes.list, zone_id=zone)] == [route.id]
    assert (await ask(sdk.workers.routes.get, route_id=route.id, zone_id=zone)).script == "probe"
    with pytest.raises(cloudflare.ConflictError):
        await ask(sdk.workers.routes.create, zone_id=zone, pattern="shop.example/*", script="probe")
    moved = await ask(
        sdk.workers.routes.update, route_id=route.id, zone_id=zone, pattern="shop.example/y*", script="probe"
    )
    assert moved.pattern == "shop.example/y*"
    await ask(sdk.workers.routes.delete, route_id=route.id, zone_id=zone)

    await ask(scripts.delete, **named)
    with pytest.raises(cloudflare.NotFoundError):
        await ask(scripts.script_and_version_settings.get, **named)
