"""A standby service waits while another service is using the store, and takes over when that service ends or dies."""

from __future__ import annotations

import json
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from edge_worker.harness.service import environment, eventually, open_service
from edge_worker.programs import open_program
from svc.store import open_store
from svc.store.tx import Tx, sql
from tests.databases import execute, postgres_config
from tests.journeys.conftest import connect, settings_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from edge_worker.harness.service import Service
    from edge_worker.programs import Fork
    from svc.config import StoreConfig

pytestmark = pytest.mark.rule("X18")

WAITS = "standby: another svc serve uses the store"
AWAY = "standby: the store is unavailable"
TAKES = "standby: taking over the store"
# A takeover takes three seconds. The rest of the time is a margin for a busy machine.
WITHIN_S = 30.0


class Standby:
    """A running `svc serve --standby`."""

    def __init__(self, process: trio.Process | Fork, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.output = b""  # its standard output, empty until it serves
        self.url = ""

    def messages(self) -> list[str]:
        """Return the messages that the standby has logged."""
        lines = (self.folder / "log").read_text().splitlines(keepends=True)
        return [json.loads(line)["message"] for line in lines if line.startswith("{") and line.endswith("\n")]

    async def logs(self, message: str) -> None:
        """Wait until the standby has logged this message."""

        async def check() -> bool | None:
            assert self.process.poll() is None or message in self.messages(), (self.folder / "log").read_text()
            return True if message in self.messages() else None

        await eventually(check, every_s=0.02)

    async def serves(self) -> None:
        """Wait until the standby serves requests."""
        assert self.process.stdout is not None
        with trio.fail_after(WITHIN_S):
            while not self.output.endswith(b"\n"):
                received = await self.process.stdout.receive_some(1_024)
                assert received, (self.folder / "log").read_text()
                self.output += received
        self.url = json.loads(self.output)["url"]

    async def ends(self, by: signal.Signals | None = None) -> int:
        """Send the signal, if any, and return the standby's exit status once it has ended."""
        if by is not None:
            self.process.send_signal(by)
        return await self.process.wait()


@asynccontextmanager
async def open_standby(folder: Path, settings: Mapping[str, str]) -> AsyncIterator[Standby]:
    """Run `svc serve --standby` in a new folder until the block ends. The settings name the shared key file."""
    folder.mkdir()
    with (folder / "log").open("ab") as log:
        process = await open_program(
            ["-m", "svc", "serve", "--standby"], environ=environment(folder, settings), stderr=log.fileno()
        )
    try:
        yield Standby(process, folder)
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()


def shared(tmp_path: Path, emulator: Any, store_config: StoreConfig) -> dict[str, str]:
    """Return the settings that all services of a store share."""
    return settings_of(
        emulator,
        store_config,
        SVC_VAULT_KEY_FILE=str(tmp_path / "vault.key"),
        SVC_LIMITS_REQUESTS_PER_MINUTE="1000000",
    )


async def epoch(store_config: StoreConfig) -> int:
    """Return the number of services that have used the store so far, which only PostgreSQL counts."""

    def asked() -> Tx[int]:
        [row] = yield sql("select epoch from serving")
        return int(row["epoch"])

    async with open_store(store_config) as beside:
        return await beside.read(asked())


@pytest.mark.both_engines
async def test_standby_takes_over_from_a_killed_service_with_all_acknowledged_data(
    emulator, customer, store_config, tmp_path
):
    settings = shared(tmp_path, emulator, store_config)
    kept: dict[str, str] = {}  # ids of the links that got a response, by code

    async def write(service: Service, account_id: str, lane: int) -> None:
        number = lane
        with suppress(httpx.TransportError):
            while True:
                body = {"account_id": account_id, "url": "https://a.example", "code": f"code{number}"}
                link = (await service.call("POST", "/v1/links", body, expect=201))["link"]
                kept[link["code"]] = link["id"]
                number += 4

    async with open_service(tmp_path / "first", settings) as first:
        await first.sign_up("a@example.com", "a long password")
        account_id = await connect(first, customer)
        async with open_standby(tmp_path / "second", settings) as standby:
            await standby.logs(WAITS)
            async with trio.open_nursery() as nursery:
                for lane in range(4):
                    nursery.start_soon(write, first, account_id, lane)
                while len(kept) < 40:
                    await trio.lowlevel.checkpoint()
                assert standby.messages() == [WAITS]
                await first.kill()
            await standby.serves()
            first.url = standby.url  # send further requests to the standby
            for code, link_id in kept.items():
                assert (await first.call("GET", f"/v1/links/{link_id}"))["link"]["code"] == code
            await first.synced(f"/v1/links/{link_id}")  # this shows that the account actors are running
            assert standby.messages()[:2] == [WAITS, TAKES]
            assert await standby.ends(signal.SIGTERM) == 0


@pytest.mark.both_engines
async def test_one_of_two_standbys_takes_over_and_the_other_keeps_waiting(emulator, store_config, tmp_path):
    settings = shared(tmp_path, emulator, store_config)
    counted = store_config.engine == "postgres"
    async with (
        open_service(tmp_path / "first", settings) as first,
        open_standby(tmp_path / "a", settings) as a,
        open_standby(tmp_path / "b", settings) as b,
        open_standby(tmp_path / "c", settings) as c,
    ):
        await first.sign_up("a@example.com", "a long password")
        for each in (a, b, c):
            await each.logs(WAITS)
        assert await c.ends(signal.SIGTERM) == 0
        assert c.messages() == [WAITS, "standby: stopping"]
        assert await epoch(store_config) == int(counted)
        assert (await first.call("GET", "/v1/me"))["user"]["email"] == "a@example.com"

        first.process.terminate()  # the first service ends and releases the store
        assert await first.process.wait() == 0
        served: list[Standby] = []

        async def serve(each: Standby) -> None:
            await each.serves()
            served.append(each)
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, a)
            nursery.start_soon(serve, b)
        [second] = served
        third = b if second is a else a
        first.url = second.url
        assert (await first.call("GET", "/v1/me"))["user"]["email"] == "a@example.com"
        before = await epoch(store_config)
        assert before >= 2 * counted
        # The other standby also tried to take over the store and failed, or it noticed that the store was in use.
        await first.call("GET", "/v1/accounts")
        assert (third.output, third.process.poll()) == (b"", None)

        assert await second.ends(signal.SIGKILL) == -signal.SIGKILL
        await third.serves()
        assert await epoch(store_config) >= before + counted
        first.url = third.url
        assert (await first.call("GET", "/v1/me"))["user"]["email"] == "a@example.com"


async def test_frozen_service_writes_nothing_when_it_resumes_and_ends(emulator, server, tmp_path):
    """The frozen process simulates a suspended or isolated machine.

    PostgreSQL has ended the frozen process's sessions, and another service is using the store.
    """
    with postgres_config(server.url) as config:
        settings = shared(tmp_path, emulator, config)

        async def serve_first() -> None:
            async with (
                open_service(tmp_path / "first", settings) as first,
                open_standby(tmp_path / "second", settings) as standby,
            ):
                await first.sign_up("a@example.com", "a long password")
                await standby.logs(WAITS)
                first.process.send_signal(signal.SIGSTOP)
                responses: list[int] = []
                old_url = first.url

                async def ask(method: str, number: int) -> None:
                    body = {"scopes": ["links"], "name": f"late {number}"} if method == "POST" else None
                    with suppress(httpx.TransportError):
                        response = await first.client.request(
                            method, f"{old_url}/v1/keys", json=body, headers=first.headers
                        )
                        responses.append(response.status_code)

                async with trio.open_nursery() as nursery:
                    for number in range(10):  # these requests are waiting in the frozen service's sockets
                        nursery.start_soon(ask, ("GET", "POST")[number % 2], number)
                    await trio.to_thread.run_sync(end_sessions, config.url.get_secret_value())
                    await standby.serves()
                    assert await epoch(config) == 2
                    first.url = standby.url
                    await first.call("POST", "/v1/keys", {"scopes": ["links"], "name": "of the second"})
                    first.process.send_signal(signal.SIGCONT)
                    assert await first.process.wait() == 1
                assert not [status for status in responses if status < 500]
                names = [key["name"] for key in (await first.call("GET", "/v1/keys"))["keys"]]
                assert names == ["of the second"]
                assert await epoch(config) == 2

        with pytest.raises(AssertionError, match="svc: Another svc serve process has taken over this store"):
            await serve_first()


def end_sessions(url: str) -> None:
    """End the sessions that hold the store's lock, as PostgreSQL does if their machine is unreachable."""
    execute(
        url,
        "select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory' and mode = 'ShareLock'"
        " and objid = (hashtext(current_schema())::bigint & 4294967295)::oid",
    )


async def test_standby_waits_for_an_unavailable_store_and_ends_for_a_newer_one(emulator, server, tmp_path):
    with postgres_config(server.url) as config:
        settings = shared(tmp_path, emulator, config)
        async with open_service(tmp_path / "first", settings) as first:
            await first.sign_up("a@example.com", "a long password")
            async with open_standby(tmp_path / "second", settings) as standby:
                await standby.logs(WAITS)
                await trio.to_thread.run_sync(server.kill)
                await first.kill()
                await standby.logs(AWAY)
                await trio.to_thread.run_sync(server.start)
                await standby.serves()
                first.url = standby.url
                assert (await first.call("GET", "/v1/me"))["user"]["email"] == "a@example.com"

                async with open_standby(tmp_path / "third", settings) as third:
                    await third.logs(WAITS)
                    url = config.url.get_secret_value()
                    await trio.to_thread.run_sync(execute, url, "insert into schema_version values (99)")
                    assert await third.ends() == 1
                    log = (third.folder / "log").read_text()
                    assert "svc: The store has schema 99; this program supports" in log
                    assert "Traceback" not in log
