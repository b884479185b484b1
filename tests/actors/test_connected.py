"""Tests that a restored copy of a connected account is the same as an account that was connected."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack

import pytest

from edge_worker.emulator.client import proxied_zone
from svc.actors.operations.install import push_second
from svc.clock import system_clock
from svc.store import open_store, users
from tests.actors import connected
from tests.actors.checks.test_health_check import CustomerApi, check
from tests.actors.conftest import Place, Service
from tests.actors.requests.test_sites import active_site, counted_paths, place_of
from tests.clock import FrozenClock
from tests.databases import make_sqlite_store, sqlite_config
from tests.emulated import LENIENT

TABLES = "select name, sql from sqlite_master where name not like '~_cf~_%' escape '~' order by name"


@pytest.fixture
def connects(monkeypatch):
    """The connect operations of this test, which begins without copies."""
    made = []
    really = Service.connect_and_install

    async def recorded(service):
        made.append(service.customer.account_id)
        return await really(service)

    monkeypatch.setattr(Service, "connect_and_install", recorded)
    monkeypatch.setattr(connected, "COPIES", {})
    return made


@pytest.fixture
def other_store_config(store_config, request, tmp_path):
    """The configuration of a second empty store on the same engine."""
    with ExitStack() as opened:
        if store_config.engine == "sqlite":
            config = sqlite_config(tmp_path, "other.db")
            make_sqlite_store(config)
        else:
            config = opened.enter_context(request.getfixturevalue("schemas").one())
        yield config


async def seen(service):
    """Return everything that is known about a connected account, without ids and exact times."""
    held = (await service.held())["scripts"]["svc-edge"]
    [version] = held["versions"]
    [second] = [one["text"] for one in version["bindings"] if one["name"] == "PUSH_SECOND"]
    assert second == str(push_second(service.customer.account_id))
    outline = (await connected.situation_of(service)).outline.replace(f'"{second}"', '"the second"')
    outline = re.sub('"sealed_token": "bytes:[0-9a-f]+"', "sealed token", outline)  # a nonce makes each different
    usage = (await service.emulator.state())["accounts"][service.customer.account_id]["usage"]
    calls = [(call["method"], call["path"], call["status"]) for call in await service.emulator.requests()]
    usage_and_calls = re.sub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", "#", json.dumps([usage, calls]))
    api = CustomerApi(service)
    tables = await api.sql(TABLES)
    rows = {}
    for name in [row["name"] for row in tables if (row["sql"] or "").startswith("CREATE TABLE")]:
        columns = [row["name"] for row in await api.sql(f"select name from pragma_table_info('{name}')")]
        # quote() distinguishes integers, real numbers and texts
        rows[name] = await api.sql(f"select {', '.join(f'quote({column})' for column in columns)} from {name}")
    return outline, usage_and_calls, tables, rows


@pytest.mark.both_engines
async def test_restored_account_is_the_same_as_a_connected_one(place, connects, other_store_config, zone, tmp_path):
    async with place.running() as service:
        account_id = await service.ready()
        first = await seen(service)
    await place.emulator.reset(**LENIENT)
    other_zone = f"z{int(zone[1:11]) // 2:010}.example"
    customer = await place.emulator.create_account([proxied_zone(other_zone)])
    async with open_store(other_store_config) as store:
        other = Place(store, FrozenClock(system_clock()), place.emulator, customer, tmp_path)
        async with other.running() as service:
            assert await service.ready() == account_id
            await service.idle()
            assert await seen(service) == first
            assert connects == [place.customer.account_id]
            assert await check(service) == []
            site = await active_site(service, other_zone)
            assert await counted_paths(service) == ({place_of(site)}, set())
            assert await check(service) == []
    assert connects == [place.customer.account_id]


async def with_a_fault(place):
    await place.emulator.fault("slow", "/no/such/path")


async def with_another_limit(place):
    await place.emulator.set_limits(place.customer.account_id, scripts=99)


async def with_another_token(place):
    await place.emulator.create_token(place.customer.account_id)


async def with_another_account(place):
    await place.emulator.create_account()


async def with_another_setting_of_the_emulator(place):
    await place.emulator.set_failure_settings(zone_gone="invalid")


async def with_another_configuration(place):
    place.timing["recheck_s"] = 59


async def with_another_worker(place):
    place.upgrade()


async def with_another_user(place):
    await place.store.run(users.add_user("other@example.com", "no password", place.clock(), confirmed=True))


async def at_another_time_of_the_service(place):
    place.clock.advance_s(-3_600)


@pytest.mark.parametrize(
    "change",
    [
        with_a_fault,
        with_another_limit,
        with_another_token,
        with_another_account,
        with_another_setting_of_the_emulator,
        with_another_configuration,
        with_another_worker,
        with_another_user,
        at_another_time_of_the_service,
    ],
)
async def test_account_in_another_situation_is_connected_for_real(
    place, connects, other_store_config, tmp_path, change
):
    async with place.running() as service:
        await service.ready()
    await place.emulator.reset(**LENIENT)
    customer = await place.emulator.create_account([proxied_zone("z0000000000.example")])
    async with open_store(other_store_config) as store:
        other = Place(store, FrozenClock(system_clock()), place.emulator, customer, tmp_path)
        await change(other)
        async with other.running() as service:
            await service.ready()
    assert connects == [place.customer.account_id, customer.account_id]
