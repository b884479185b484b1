"""The metrics address serves one path, and responds quickly even if the store or other clients are unresponsive."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc import metrics as table
from svc.errors import ErrorNote, StoreUnavailable
from svc.http.metrics_page import open_metrics_page
from svc.metrics import Metrics
from svc.store import operations
from svc.store.service_state import record_backup
from tests.http.serving.test_sockets import head, response_of
from tests.scraped import Scraped
from tests.store.makers import an_account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.http.metrics_page import MetricsPage
    from svc.store.tx import Store, Tx
    from tests.clock import FrozenClock

BUNDLE = "b" * 64


class UnreliableStore:
    """A store that a test can make unavailable or unresponsive."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.condition = store.condition
        self.away = False
        self.responses = trio.Event()
        self.responses.set()
        self.reads = 0

    async def read(self, tx: Tx[Any]) -> Any:
        """Run a read transaction, unless the test prevents it."""
        self.reads += 1
        await self.responses.wait()
        if self.away:
            tx.close()
            raise StoreUnavailable
        return await self._store.read(tx)

    async def size_bytes(self) -> int:
        """Return the store's size in bytes."""
        return await self._store.size_bytes()


class Served:
    """The metrics page, served by the service's own server."""

    def __init__(self, page: MetricsPage, port: int, metrics: Metrics) -> None:
        self.page, self.port, self.metrics = page, port, metrics

    async def scrape(self) -> Scraped:
        """Request the metrics as Prometheus does, and return them parsed."""
        status, headers, body = await self.ask("GET", "/metrics")
        assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        return Scraped(body)

    async def ask(self, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        """Send a request on a new connection, and return status, headers and body."""
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            await stream.send_all(head(method, path))
            return await response_of(stream, method)


@asynccontextmanager
async def served(store: Any, clock: FrozenClock, **more: float) -> AsyncIterator[Served]:
    metrics = Metrics()
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    kept: dict[str, float] = {"poll_every_s": 0, "fresh_s": 0, **more}
    async with open_metrics_page(store, clock, metrics, listeners, bundle=BUNDLE, **kept) as page:
        yield Served(page, port, metrics)


@pytest.mark.rule("X14")
async def test_only_get_and_head_of_metrics_are_served(store: Store, clock: FrozenClock) -> None:
    async with served(store, clock) as service:
        whole = await service.ask("GET", "/metrics?name[]=x")
        empty = await service.ask("HEAD", "/metrics")
        assert (whole[0], empty[0], empty[2]) == (200, 200, b"")
        assert int(empty[1]["content-length"]) > 1_000
        for path in ("/", "/metrics/", "/v1/me", "/healthz"):
            status, headers, body = await service.ask("GET", path)
            assert (status, headers["content-type"]) == (404, "application/json")
            assert json.loads(body)["error"]["code"] == "not_found"
        status, headers, body = await service.ask("POST", "/metrics")
        assert (status, headers["allow"]) == (405, "GET, HEAD")
        assert json.loads(body)["error"]["code"] == "method_not_allowed"


@pytest.mark.rule("X14")
async def test_every_scrape_has_the_figures_from_the_store(store: Store, clock: FrozenClock) -> None:
    async with served(store, clock) as service:
        before = await service.scrape()
        assert before.counts("svc_accounts", "state") == {}
        assert len(before.series("svc_accounts")) == 9
        assert before.series("svc_backup_age_seconds") == []
        await store.run(an_account())
        await store.run(record_backup(clock() - 3_000))
        await store.run(record_backup(clock() - 7_000))  # this backup began before the other one, but ended after it
        found = await service.scrape()
        assert found.total("svc_backup_age_seconds") == 3
        assert found.counts("svc_accounts", "state") == {("pending",): 1}
        assert found.counts("svc_operations_running", "kind") == {("connect",): 1}
        assert (found.total("svc_store_up"), found.total("svc_mail_oldest_seconds")) == (1, 0)
        assert found.series("svc_mail_untried_seconds") == [({}, 0)]
        assert found.total("svc_store_bytes") == await store.size_bytes()
        assert found.series("svc_build_info")[0][0]["bundle"] == BUNDLE
        assert found.total("svc_tasks") > 3
        assert found.total("process_open_fds") > 3
        assert found.total("python_gc_collections_total") > 0


@pytest.mark.rule("X14")
async def test_ended_operation_is_counted_once(store: Store, clock: FrozenClock) -> None:
    ids = []
    for _ in range(3):
        running = await store.read(operations.running(await store.run(an_account())))
        assert running is not None
        ids.append(running.id)
    await store.run(operations.finish(ids[0], clock() - 1))  # this operation ended before the service started
    async with served(store, clock) as service:
        await service.scrape()
        await store.run(operations.finish(ids[1], clock() + 7_000))
        for _ in range(3):
            found = await service.scrape()
            assert found.counts("svc_operation_seconds_count", "kind", "outcome") == {("connect", "done"): 1}
        assert found.total("svc_operation_seconds_sum") == 7
        # This operation ended before the one that is counted already, but appears only now, because its transaction was
        # slow.
        await store.run(operations.fail(ids[2], ErrorNote("internal", "x", None), clock() + 3_000))
        clock.advance_s(3_600)
        found = await service.scrape()
        assert found.counts("svc_operation_seconds_count", "kind", "outcome") == {
            ("connect", "done"): 1,
            ("connect", "failed"): 1,
        }


@pytest.mark.rule("X14")
async def test_unavailable_store_leaves_the_other_metrics(
    store: Store, clock: FrozenClock, expected_errors: Any
) -> None:
    expected_errors.allow("store unavailable")
    unreliable = UnreliableStore(store)
    async with served(unreliable, clock) as service:
        service.metrics.count(table.ACTOR_CRASHES)
        assert "svc_accounts" in (await service.scrape()).families
        unreliable.away = True
        store.condition.failed(StoreUnavailable())
        found = await service.scrape()
        from_store = {
            "svc_accounts",
            "svc_accounts_behind",
            "svc_operations_running",
            "svc_mail_waiting",
            "svc_mail_untried_seconds",
            "svc_rollout_state",
            "svc_store_bytes",
        }
        assert from_store.isdisjoint(found.families)
        assert (found.total("svc_store_up"), found.total("svc_actor_crashes_total")) == (0, 1)
        unreliable.away = False
        assert "svc_accounts" in (await service.scrape()).families


@pytest.mark.rule("X14")
async def test_store_that_does_not_respond_delays_no_scrape(store: Store, clock: FrozenClock) -> None:
    unreliable = UnreliableStore(store)
    unreliable.responses = trio.Event()
    async with served(unreliable, clock) as service:
        with trio.fail_after(30):
            for _ in range(2):
                found = await service.scrape()
                assert "svc_accounts" not in found.families
                assert found.total("svc_loop_lag_seconds_count") > 0
        assert unreliable.reads == 1
        unreliable.responses.set()
        assert "svc_accounts" in (await service.scrape()).families


@pytest.mark.rule("X14")
async def test_many_scrapes_share_one_text_and_one_poll(store: Store, clock: FrozenClock) -> None:
    unreliable = UnreliableStore(store)
    texts: list[bytes] = []
    async with served(unreliable, clock, fresh_s=3_600, poll_every_s=3_600) as service:

        async def some() -> None:
            texts.extend([(await service.ask("GET", "/metrics"))[2] for _ in range(10)])

        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(some)
    assert len(texts) == 80
    assert len(set(texts)) == 1
    assert unreliable.reads == 2  # one read for the numbers of objects, and one for the operations that ended


@pytest.mark.rule("X14")
async def test_idle_connections_do_not_block_a_scraper(store: Store, clock: FrozenClock) -> None:
    async with served(store, clock) as service:
        idle = [await trio.open_tcp_stream("127.0.0.1", service.port) for _ in range(20)]
        for stream in idle[::2]:
            await stream.send_all(b"GET /metrics HTTP/1.1\r\nHost: ")
        with trio.fail_after(20):
            assert (await service.scrape()).total("svc_store_up") == 1
        for stream in idle:
            await stream.aclose()


async def test_client_that_disconnects_does_not_cancel_the_text_of_others(store: Store, clock: FrozenClock) -> None:
    unreliable = UnreliableStore(store)
    unreliable.responses = trio.Event()
    async with served(unreliable, clock) as service, trio.open_nursery() as nursery:
        found: list[bytes] = []

        async def ask() -> None:
            found.append(await service.page.text())

        with trio.CancelScope() as leaver:
            nursery.start_soon(ask)
            leaver.cancel()
            await service.page.text()
        unreliable.responses.set()
        with trio.fail_after(20):
            while not found:
                await trio.lowlevel.checkpoint()
    assert b"svc_accounts" in found[0]
