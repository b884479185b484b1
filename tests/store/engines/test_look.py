"""Whether a store is free to be taken: asked beside a service that has it."""

from __future__ import annotations

import time

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.config import ConfigError
from svc.store import open_look, open_store
from svc.store.engines.served import Away, Served
from svc.store.tx import sql
from tests.databases import execute, postgres_config

pytestmark = pytest.mark.rule("X18")


def the_epoch():
    [row] = yield sql("select epoch from serving")
    return row["epoch"]


async def test_a_store_is_free_when_nobody_has_it_and_looking_changes_nothing(store_config):
    async with open_look(store_config) as look, open_look(store_config) as other:
        assert await look()
        async with open_store(store_config, serving=True) as store:
            before = await store.read(the_epoch())
            assert not await look()
            assert not await other()
            assert await store.read(the_epoch()) == before
            with pytest.raises(Served, match="Another svc serve uses"):
                async with open_store(store_config, serving=True):
                    pytest.fail("there are two")
            held_at = time.monotonic()
            assert not await look()

        async def free() -> bool | None:
            return await look() or None

        await eventually(free, every_s=0.02)
        if store_config.engine == "postgres":  # it could have lost its connections alone, and be about to come back
            assert time.monotonic() - held_at >= 2
        async with open_store(store_config, serving=True):
            assert not await look()
            assert not await other()


async def test_a_server_that_is_gone_is_told_apart_from_what_waiting_does_not_mend(server):
    with postgres_config(server.url) as config:
        url = config.url.get_secret_value()
        async with open_look(config) as look, open_store(config, serving=True):
            assert not await look()
            await trio.to_thread.run_sync(execute, url, "insert into schema_version values (99)")
            with pytest.raises(ConfigError, match="has schema 99; this program knows"):
                await look()
            await trio.to_thread.run_sync(execute, url, "delete from schema_version where number = 99")
            assert not await look()
        async with open_look(config) as look:
            await trio.to_thread.run_sync(server.kill)
            try:
                for _ in range(2):
                    with pytest.raises(Away, match="cannot be opened"):
                        await look()
            finally:
                await trio.to_thread.run_sync(server.start_as_replica)
            with pytest.raises(Away, match="the server is a replica"):
                await look()
            await trio.to_thread.run_sync(execute, url, "select pg_promote()")

            async def free() -> bool | None:
                return await look() or None

            await eventually(free)
            async with open_store(config, serving=True):
                pass
        nobody = config.model_copy(update={"url": type(config.url)(url.replace("//postgres:", "//nobody:"))})
        async with open_look(nobody) as look:
            with pytest.raises(ConfigError, match="nobody") as refused:
                await look()
            assert not isinstance(refused.value, Away)
