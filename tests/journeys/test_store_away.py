"""While the store is unavailable, the service keeps running and reports the problem at /readyz.

The service completes pending work once the store is available again.
"""

from __future__ import annotations

import resource
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.service import Service, eventually, open_service
from tests.cut_network import open_network
from tests.databases import postgres_config, sqlite_config
from tests.journeys.conftest import connect, free_port, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc.config import StoreConfig
    from tests.databases import OwnPostgres


class Outage:
    """Functions that make a store unavailable (`begin`) and available again (`end`). Both functions block."""

    def __init__(self, config: StoreConfig, begin: Callable[[Service], None], end: Callable[[Service], None]) -> None:
        self.config = config
        self.begin = begin
        self.end = end


@contextmanager
def full_disk(tmp_path) -> Iterator[Outage]:
    """Simulate a full disk for SQLite: a file size limit prevents its log from growing."""

    def begin(service: Service) -> None:
        log_bytes = (tmp_path / "svc.db-wal").stat().st_size
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (log_bytes, resource.RLIM_INFINITY))

    def end(service: Service) -> None:
        limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, limit)

    yield Outage(sqlite_config(tmp_path), begin, end)


@contextmanager
def killed_server(server: OwnPostgres) -> Iterator[Outage]:
    with postgres_config(server.url) as config:
        yield Outage(config, lambda _: server.kill(), lambda _: server.start())


@pytest.fixture(params=["full disk", "killed server"])
def outage(request, tmp_path) -> Iterator[Outage]:
    made = full_disk(tmp_path) if request.param == "full disk" else killed_server(request.getfixturevalue("server"))
    with made as opened:
        yield opened


async def ready(service: Service, status: int) -> Any:
    """Wait until /readyz responds with `status` and return its body."""

    async def check() -> Any:
        assert (await service.client.get(f"{service.url}/healthz")).status_code == 200
        response = await service.client.get(f"{service.url}/readyz")
        return response.json() if response.status_code == status else None

    return await eventually(check)


async def still_away(service: Service) -> None:
    """Wait a few seconds while the service retries its sync, and check that /readyz still reports 503."""
    responses: list[int] = []

    async def check() -> bool | None:
        responses.append((await service.client.get(f"{service.url}/readyz")).status_code)
        return True if len(responses) == 15 else None

    await eventually(check)
    assert set(responses) == {503}


async def test_pending_sync_survives_an_outage_of_the_store(emulator, customer, outage, tmp_path):
    settings = settings_of(emulator, outage.config, SVC_TIMING_SYNC_RETRY_S="0.2", SVC_TIMING_CRASH_BACKOFF_S="0.05")
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        account_id = await connect(service, customer)
        await emulator.fault("refuse", "*/query", method="POST", status=503, times=None)
        body = {"account_id": account_id, "url": "https://a.example", "code": "abc"}
        link = (await service.call("POST", "/v1/links", body, expect=201))["link"]

        await trio.to_thread.run_sync(outage.begin, service)
        await emulator.clear_faults()
        error = (await ready(service, 503))["error"]
        assert error["code"] == "busy"
        assert "store" in error["message"]
        refused = await service.call("POST", "/v1/links", {**body, "code": "xyz"}, expect=503)
        assert refused["error"]["code"] == "busy"
        assert "account" not in refused["error"]["message"]
        await still_away(service)
        assert service.process.poll() is None

        await trio.to_thread.run_sync(outage.end, service)
        assert await ready(service, 200) == {"ok": True}
        await service.synced(f"/v1/links/{link['id']}")
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        assert (account["state"], account["error"]) == ("ready", None)


async def test_install_survives_an_outage_of_the_store(emulator, customer, outage, tmp_path):
    settings = settings_of(emulator, outage.config, SVC_TIMING_CRASH_BACKOFF_S="0.05")
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        await emulator.fault("slow", "*/workers/scripts/svc-edge", method="PUT", delay_s=2)
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account_id = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
        await emulator.faulted()
        await trio.to_thread.run_sync(outage.begin, service)
        await ready(service, 503)
        await still_away(service)
        await trio.to_thread.run_sync(outage.end, service)
        account = await service.account_in(account_id, "ready", "connected")
        assert (account["state"], account["error"]) == ("ready", None)
    held = (await emulator.state())["accounts"][customer.account_id]
    assert (list(held["scripts"]), len(held["databases"]), len(held["tokens"])) == (["svc-edge"], 1, 1)


async def test_service_rejects_requests_while_its_database_does_not_respond(emulator, server, tmp_path):
    """Simulate a network failure: connections stay open but nothing responds. No request may hang."""
    host, _, port = free_port().partition(":")
    with server.reached_by_tcp(host, int(port)) as url, postgres_config(url) as config:
        async with open_network(config.url.get_secret_value()) as (network, through):
            settings = settings_of(emulator, config, SVC_STORE_URL=through)
            async with open_service(tmp_path / "svc", settings) as service:
                await service.sign_up("a@example.com", "a long password")
                begun: list[int] = []

                async def request(path: str) -> int:
                    response = await service.client.get(f"{service.url}{path}", headers=service.headers)
                    begun.append(response.status_code)
                    return response.status_code

                network.cut()
                # The requests end before the timeout of a single statement (30 s at the server, 40 s in the service).
                with trio.fail_after(28):
                    async with trio.open_nursery() as nursery:
                        for path in ("/v1/me", "/v1/links", "/v1/accounts") * 10:
                            nursery.start_soon(request, path)
                        await ready(service, 503)
                assert set(begun) == {503}
                with trio.fail_after(28):
                    for _ in range(30):
                        response = await service.client.get(f"{service.url}/v1/me", headers=service.headers)
                        assert (response.status_code, response.json()["error"]["code"]) == (503, "busy")
                        assert int(response.headers["Retry-After"]) > 0
                    page = await service.client.get(f"{service.url}/s/shs_{'a' * 20}", headers={"Accept": "text/html"})
                assert (page.status_code, page.headers["Content-Type"]) == (503, "text/html; charset=utf-8")
                assert int(page.headers["Retry-After"]) > 0
                network.restore(forget=True)
                await ready(service, 200)
                begun.clear()

                async def request_again(path: str) -> None:
                    while await request(path) == 503:  # a check of the store was late, because the machine is busy
                        await ready(service, 200)

                async with trio.open_nursery() as nursery:
                    for path in ("/v1/me", "/v1/links", "/v1/accounts") * 10:
                        nursery.start_soon(request_again, path)
                assert set(begun) <= {200, 503}
                assert begun.count(200) == 30


async def test_service_rejects_writes_if_its_database_file_is_moved(emulator, tmp_path):
    settings = settings_of(emulator, sqlite_config(tmp_path))
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        (tmp_path / "svc.db").rename(tmp_path / "aside.db")
        assert "moved, deleted or replaced" in (await ready(service, 503))["error"]["message"]
        key = {"name": "one", "scopes": ["links"]}
        refused = await service.call("POST", "/v1/keys", key, expect=503)
        assert refused["error"]["code"] == "busy"
        (tmp_path / "aside.db").rename(tmp_path / "svc.db")
        await ready(service, 200)
        await service.call("POST", "/v1/keys", key, expect=201)
    lines = [line for line in (tmp_path / "svc" / "log").read_text().splitlines() if "store unavailable" in line]
    assert len(lines) == 1
    assert "Move that file back" in lines[0]


async def test_service_ends_if_its_store_was_taken_over(emulator, server, tmp_path):
    """The first service is paused while PostgreSQL restarts and another service takes over the store."""
    with postgres_config(server.url) as config:
        settings = settings_of(emulator, config)

        async def serve_first() -> None:
            async with open_service(tmp_path / "first", settings) as first:
                first.process.send_signal(signal.SIGSTOP)
                await trio.to_thread.run_sync(server.kill)
                await trio.to_thread.run_sync(server.start)
                async with open_service(tmp_path / "second", settings) as second:
                    first.process.send_signal(signal.SIGCONT)
                    assert await first.process.wait() == 1
                    await ready(second, 200)

        with pytest.raises(AssertionError, match="svc: Another svc serve process has taken over this store"):
            await serve_first()
