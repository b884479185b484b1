"""Tests that schemas are reset or dropped after use."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import trio

from svc.store import open_store
from tests.databases import connected, execute, texts_of
from tests.store.makers import an_account


def schema_of(config):
    return config.url.get_secret_value().rpartition("=")[2]


def used(config):
    """Use a store, and return the content of its tables."""

    async def use():
        async with open_store(config) as store:
            await store.run(an_account())

    trio.run(use)
    return connected(config.url.get_secret_value(), lambda connection: texts_of(connection, schema_of(config)))


def numbers(rows):
    """Return the numbers that grow with use: ids of users, and the number of service starts."""
    return [text.partition(",")[0] for table in ("users", "serving") for text in rows[table].splitlines()]


def test_reused_schema_is_empty_and_its_sequences_restart(schemas):
    with schemas.one() as config:
        name, first = schema_of(config), used(config)
    with schemas.one() as config:
        assert schema_of(config) == name
        again = used(config)
    assert (numbers(again), again.keys()) == (numbers(first), first.keys())
    assert len(again["accounts"].splitlines()) == 1


@pytest.mark.parametrize("statement", ["create table {}.more (n int)", "alter table {}.users add column more int"])
def test_changed_schema_is_not_reused(schemas, statement):
    with schemas.one() as config:
        name = schema_of(config)
        used(config)
        execute(schemas.url, statement.format(name))
    with schemas.one() as config:
        assert schema_of(config) != name


def test_schema_with_open_connections_is_not_reused(schemas):
    taken, left = threading.Event(), threading.Event()

    async def stay(_connection):
        taken.set()
        await asyncio.to_thread(left.wait)

    with ThreadPoolExecutor(1) as thread:
        with schemas.one() as config:
            used(config)
            staying = thread.submit(connected, schemas.url, stay)
            taken.wait()
        left.set()
        staying.result()
    assert schema_of(config) not in schemas.free
