"""Measures the CPU time and the database reads while 1,000 viewers open the public page of a share."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figures import Row
from bench.http import UNLIMITED, connected
from bench.load import load, request
from bench.service import ENGINES, NOW, add_counted, add_links, add_user, new_config, settings_for
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import open_service
from svc.ids import digest, new_id
from svc.model import Key
from svc.security.api_key import new_api_key
from svc.store import keys, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bench.service import Engine
    from edge_worker.emulator.client import Emulator
    from svc.config import StoreConfig

_VIEWERS, _CONNECTIONS = 1_000, 50


async def viewers() -> AsyncIterator[Row]:
    """Measure the page of a shared site, and of a site in a shared account. Viewers read totals and breakdowns."""
    for engine in ENGINES:
        async with open_emulator(no_runtime=True, **LENIENT) as emulator, new_config(engine) as config:
            async for row in _viewers(engine, emulator, config):
                yield row


async def _viewers(engine: Engine, emulator: Emulator, config: StoreConfig) -> AsyncIterator[Row]:
    settings = {
        **UNLIMITED,
        **settings_for(config, emulator),
    }
    value = new_api_key()
    async with open_store(config) as store:
        user_id = await add_user(store)
        key = Key(
            new_id("key"), user_id, None, value[:8], ("accounts", "sites", "links", "reports"), None, None, NOW, None
        )
        await store.run(keys.add_key(key, digest(value), 5))
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        async with open_service(Path(folder), settings) as service:
            service.headers = {"Authorization": f"Bearer {value}"}
            account_id, _ = await connected(service, emulator)
            async with open_store(config) as store:
                link_ids = await add_links(store, user_id, account_id, 1)
                site_ids = await store.run(add_counted(user_id, account_id, link_ids, 2))
            for what, target, page in (
                ("a shared site", f"/v1/sites/{site_ids[0]}", ""),
                ("a shared account's site", f"/v1/accounts/{account_id}", f"/sites/{site_ids[1]}"),
            ):
                body = {"name": "Shop", "lists": True}
                made = await service.call("POST", f"{target}/shares", body, expect=201, key=what)
                path = made["share"]["url"].removeprefix(service.url) + page
                requests = [request("GET", f"{path}{part}") for part in ("", "/report", "/report?breakdowns=1")]

                def each(requests: list[bytes] = requests) -> Iterator[bytes]:
                    return itertools.chain.from_iterable(itertools.repeat(requests, _VIEWERS // _CONNECTIONS))

                await emulator.forget_requests()
                found = await load(
                    int(service.url.rpartition(":")[2]), service.process.pid, each, connections=_CONNECTIONS
                )
                calls = [call for call in await emulator.requests() if call["path"].endswith("/query")]
                yield Row(f"{engine}: {_VIEWERS:,} viewers of {what}, reads", str(len(calls)), "1")
                cpu_ms = found.cpu_us * len(requests) / 1000
                yield Row("  CPU of the service per viewer (page, totals, breakdowns), ms", f"{cpu_ms:.1f}", "")


MEASURES = (viewers,)
