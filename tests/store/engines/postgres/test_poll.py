"""Tests of polling a store until it is free, while a service is still using it."""

from __future__ import annotations

import time

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.config import ConfigError
from svc.store import open_poll, open_store
from svc.store.engines.served import Away, Served
from svc.store.tx import sql
from tests.databases import execute, postgres_config

pytestmark = pytest.mark.rule("X18")


def the_epoch():
    [row] = yield sql("select epoch from serving")
    return row["epoch"]


async def test_poll_reports_a_free_store_and_changes_nothing(store_config):
    async with open_poll(store_config) as poll, open_poll(store_config) as other:
        assert await poll()
        async with open_store(store_config, serving=True) as store:
            before = await store.read(the_epoch())
            assert not await poll()
            assert not await other()
            assert await store.read(the_epoch()) == before
            with pytest.raises(Served, match="Another svc serve uses"):
                async with open_store(store_config, serving=True):
                    pytest.fail("there are two")
            held_at = time.monotonic()
            assert not await poll()

        async def free() -> bool | None:
            return await poll() or None

        await eventually(free, every_s=0.02)
        if store_config.engine == "postgres":  # during these 2 s, the service could still reconnect
            assert time.monotonic() - held_at >= 2
        async with open_store(store_config, serving=True):
            assert not await poll()
            assert not await other()


async def test_poll_distinguishes_an_unreachable_server_from_permanent_errors(server):
    with postgres_config(server.url) as config:
        url = config.url.get_secret_value()
        async with open_poll(config) as poll, open_store(config, serving=True):
            assert not await poll()
            await trio.to_thread.run_sync(execute, url, "insert into schema_version values (99)")
            with pytest.raises(ConfigError, match="has schema 99; this program supports"):
                await poll()
            await trio.to_thread.run_sync(execute, url, "delete from schema_version where number = 99")
            assert not await poll()
        async with open_poll(config) as poll:
            await trio.to_thread.run_sync(server.kill)
            try:
                for _ in range(2):
                    with pytest.raises(Away, match="cannot be opened"):
                        await poll()
            finally:
                await trio.to_thread.run_sync(server.start_as_replica)
            with pytest.raises(Away, match="the server is a replica"):
                await poll()
            await trio.to_thread.run_sync(execute, url, "select pg_promote()")

            async def free() -> bool | None:
                return await poll() or None

            await eventually(free)
            async with open_store(config, serving=True):
                pass
        stranger = config.model_copy(update={"url": type(config.url)(url.replace("//postgres:", "//stranger:"))})
        async with open_poll(stranger) as poll:
            with pytest.raises(ConfigError, match="stranger") as refused:
                await poll()
            assert not isinstance(refused.value, Away)
