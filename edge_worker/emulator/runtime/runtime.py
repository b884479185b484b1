"""The runtime behind the API: one workerd process for the edge and all scripts, one for the databases.

An upload starts a new scripts process next to the old one, on the same listening socket. The old process accepts no
more connections, completes its requests, and ends when none of its scripts is working (Cloudflare docs: in-flight
requests get a grace period of 30 s). No request is refused during this change. If a script does not start, the old
process continues to run.
"""

from __future__ import annotations

import json
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import trio

from edge_worker.emulator.runtime.capnp import Running, databases_config, scripts_config, service_name
from edge_worker.emulator.runtime.workerd import StartFailed, Workerd, listening_socket, port_of
from edge_worker.emulator.state import DAY_MS, Usage

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from edge_worker.emulator.state import Account, Script, World

__all__ = ["CronEvent", "Runtime", "StartFailed", "open_runtime"]

GRACE_S = 30
# The old process may have accepted connections whose requests it has not read yet. It waits this long for such requests
# before it shuts down.
HOLD_MS = 100


@dataclass(frozen=True)
class CronEvent:
    """A cron to fire. `at`: scheduled time in epoch ms. `waits`: True if waits in the script take real time."""

    account: Account
    script: Script
    cron: str
    at: int
    waits: bool = False


@dataclass
class _Scripts:
    """A process that runs the scripts, and the part of its counts that is already added to the world's usage."""

    workerd: Workerd
    client: httpx.AsyncClient
    folder: Path
    running: list[Running]
    counted: dict[str, Any] = field(default_factory=dict)
    draining: trio.Event = field(default_factory=trio.Event)  # accepts no new requests
    has_final_counts: bool = False  # if True, its final counts have arrived or are lost, so it is not queried again
    ended: trio.Event = field(default_factory=trio.Event)

    async def ask(self, command: str, body: dict[str, Any] | None = None) -> Any:
        """Send a command to the edge in this process and return its JSON."""
        response = await self.client.post(command, json=body or {})
        response.raise_for_status()
        return response.json()


class Runtime:
    """Runs the world's scripts and databases. Created by `open_runtime`."""

    def __init__(
        self, world: World, folder: Path, edge: socket.socket, emulator_port: int, origin_port: int,
        now: Callable[[], int], log: Callable[[str], None], nursery: trio.Nursery, *, local_egress: bool,
        runs_scripts: bool,
    ) -> None:  # fmt: skip
        self.world, self._folder, self._edge = world, folder, edge
        self._ports = {"emulator_port": emulator_port, "origin_port": origin_port}
        self._now, self._log, self._nursery = now, log, nursery
        self._local_egress = local_egress
        self.runs_scripts = runs_scripts  # if False, scripts are stored and only the databases have a process
        self._lock = trio.Lock()
        self._number = 0
        self._current: _Scripts | None = None
        self._retiring: list[_Scripts] = []
        self._databases_socket = listening_socket()
        self._databases = _client(port_of(self._databases_socket))
        self._databases_process: Workerd | None = None
        self._known: set[str] = set()  # databases known to the processes
        self.watch_d1 = False
        self.place = "AMS"  # data center of the visitors
        self.max_d1_queries: dict[str, dict[str, int]] = {}  # account → script → maximum number in one invocation

    def today(self) -> int:
        """Return the epoch day of the emulated clock."""
        return self._now() // DAY_MS

    async def start(self) -> None:
        """Start both processes."""
        (self._folder / "data").mkdir(parents=True, exist_ok=True)
        config = self._folder / "databases.capnp"
        config.write_text(databases_config(self._folder, init=self._databases_init()))
        sockets = {"databases": self._databases_socket}
        self._databases_process = await Workerd.start(config, sockets, self._nursery, self._log)
        await self.run_scripts()

    # -- scripts ----------------------------------------------------------------------------------------------------

    async def run_scripts(
        self,
        *,
        instead: Running | None = None,
        without: tuple[str, str] | None = None,
        commit: Callable[[list[str]], None] | None = None,
    ) -> None:
        """Run the deployed scripts, except `without` (account id, name). The script `instead` replaces the deployed
        version of the same name.

        After all scripts have started, `commit` is called with the handlers of `instead`, and updates the world. If a
        script does not start, raises StartFailed with the runtime's output, and nothing changes. If the emulator does
        not execute scripts, `commit` gets an empty list.
        """
        if not self.runs_scripts:
            if commit is not None:
                commit([])
            return
        async with self._lock:
            running = [run for run in self._deployed() if (run.account.id, run.script.name) != without]
            if instead is not None:
                running = [run for run in running if run.service != instead.service] + [instead]
            if self._current is not None:
                await self._collect_counts(self._current)
            fresh = await self._spawn(running)
            described = await fresh.ask("/counts")
            if commit is not None:
                handlers = described["scripts"][instead.service]["handlers"] if instead else []
                commit(handlers)
            old, self._current = self._current, fresh
            await self._update()
            if old is not None:
                self._retiring.append(old)
                self._nursery.start_soon(self._retire, old)
                # Both processes listen on the edge's socket. Respond to an upload only once the old process has stopped
                # accepting requests.
                await old.draining.wait()

    async def new_isolates(self, place: str | None) -> None:
        """Restart all scripts in new isolates, in the data center `place`; None: in the current one."""
        self.place = place or self.place
        await self.run_scripts()

    def _deployed(self) -> list[Running]:
        return [
            Running(account, script, script.active)
            for account in self.world.accounts.values()
            for script in account.scripts.values()
            if script.active is not None
        ]

    async def _spawn(self, running: list[Running]) -> _Scripts:
        self._number += 1
        folder = self._folder / f"scripts-{self._number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        control = listening_socket()
        settings = {account.id: self._settings(account) for account in self.world.accounts.values()}
        config = folder / "config.capnp"
        config.write_text(
            scripts_config(
                running, folder, init=self._init(running), settings=settings,
                databases_port=port_of(self._databases_socket), **self._ports,
            )
        )  # fmt: skip
        try:
            workerd = await Workerd.start(config, {"edge": self._edge, "control": control}, self._nursery, self._log)
        except StartFailed:
            shutil.rmtree(folder)
            raise
        finally:
            client = _client(port_of(control))
            control.close()
        return _Scripts(workerd, client, folder, running)

    async def _retire(self, old: _Scripts) -> None:
        last = None
        with trio.move_on_after(GRACE_S):
            # The drain request stays open, which keeps the process running while it accepts no new requests.
            async with old.client.stream("POST", "/drain", json={"hold_ms": HOLD_MS}) as response:
                await old.workerd.stop_listening(self._edge)
                old.draining.set()
                last = json.loads(await response.aread())
        old.has_final_counts = True
        if last is not None:
            self._add_counts(old, last)
        await old.workerd.stop()
        old.draining.set()  # even if the process did not respond in time
        await old.client.aclose()
        self._retiring.remove(old)
        old.ended.set()
        shutil.rmtree(old.folder)

    # -- configuration of the edge ------------------------------------------------------------------------------------

    def _settings(self, account: Account) -> dict[str, Any]:
        return {"offset_ms": round(self.world.offset_s * 1000), "max_d1_queries": account.limits.d1_queries}

    def _init(self, running: Sequence[Running]) -> dict[str, Any]:
        """Return the edge's complete configuration. Updates of a running process omit the services."""
        services = {run.service: {"account": run.account.id, "script": run.script.name} for run in running}
        return {
            "offset_ms": round(self.world.offset_s * 1000),
            "watch_d1": self.watch_d1,
            "place": self.place,
            "local_egress": self._local_egress,
            "services": services,
            "accounts": {account.id: self._edge_account(account) for account in self.world.accounts.values()},
            "zones": self._edge_zones(set(services)),
        }

    def _edge_account(self, account: Account) -> dict[str, Any]:
        day = self.today()
        counted = self._current.counted.get(account.id, {}).get(str(day), {}) if self._current else {}
        base = account.day(day).requests - counted.get("requests", 0)
        limit = account.limits.requests
        return {
            "base": {str(day): base},
            "max_requests": 10**15 if limit is None else limit,
            "max_d1_queries": account.limits.d1_queries,
        }

    def _edge_zones(self, services: set[str]) -> dict[str, Any]:
        zones = {}
        for account in self.world.accounts.values():
            for zone in account.zones.values():
                routes = []
                for route in zone.routes:
                    script = account.scripts.get(route.script or "")
                    service = service_name(account, script) if script else None
                    routes.append(
                        {
                            "zone": zone.name,
                            "pattern": route.pattern,
                            "script": route.script,
                            "service": service if service in services else None,
                            "fail_open": route.request_limit_fail_open,
                        }
                    )
                zones[zone.name] = {
                    "account": account.id,
                    "active": zone.is_active,
                    "hosts": zone.hosts(),
                    "front_rules": {host: rule.model_dump() for host, rule in zone.front_rules.items()},
                    "routes": routes,
                }
        return zones

    async def update(self) -> None:
        """Send changes in the world (routes, zones, limits, clock, databases) to the processes.

        The changes apply to every request and statement that starts after this call returns.
        """
        async with self._lock:
            await self._update()

    async def _update(self) -> None:
        if self._current is not None:
            change = self._init(self._current.running)
            del change["services"]
            await self._current.ask("/update", change)
        databases = self._databases_init()
        await self._ask_databases("/update", databases)
        self._known = set(databases["databases"])

    # -- counting -----------------------------------------------------------------------------------------------------

    async def collect(self) -> None:
        """Add the processes' latest counts to the world's usage."""
        async with self._lock:
            for process in [self._current, *self._retiring]:
                if process is not None and not process.has_final_counts:
                    await self._collect_counts(process)
            for account_id, days in (await self._ask_databases("/meters")).items():
                account = self.world.accounts.get(account_id)
                if account is None:
                    continue
                for day, counts in days.items():
                    usage = account.day(int(day))
                    for name, count in counts.items():
                        setattr(usage, name, count)

    async def _collect_counts(self, process: _Scripts, command: str = "/counts") -> None:
        try:
            response = await process.ask(command)
        # the process is shutting down; its response to /drain contains the remaining counts
        except httpx.TransportError:
            if process is self._current:
                raise
            return
        if not process.has_final_counts:  # otherwise, this response is older than the final counts
            self._add_counts(process, response)

    def _add_counts(self, process: _Scripts, response: dict[str, Any]) -> None:
        """Add the counts since the previous query of this process to the usage."""
        for account_id, days in response["counts"].items():
            account = self.world.accounts.get(account_id)
            if account is None:
                continue
            before_days = process.counted.get(account_id, {})
            for day, counts in days.items():
                usage, before = account.day(int(day)), before_days.get(day, {"requests": 0, "scripts": {}})
                usage.requests += counts["requests"] - before["requests"]
                for script, numbers in counts["scripts"].items():
                    total = usage.scripts.setdefault(script, {"requests": 0, "errors": 0, "subrequests": 0})
                    for name, number in numbers.items():
                        total[name] += number - before["scripts"].get(script, {}).get(name, 0)
        process.counted = response["counts"]
        for run in process.running:
            most = self.max_d1_queries.setdefault(run.account.id, {})
            seen = response["scripts"][run.service]["max_d1_queries"]
            most[run.script.name] = max(most.get(run.script.name, 0), seen)

    async def settled(self) -> None:
        """Wait until no invocation is running anywhere: no request, no cron, no waitUntil work."""
        while self._retiring:
            await self._retiring[0].ended.wait()
        if self._current is not None:
            await self._collect_counts(self._current, "/settled")

    async def crons(self, events: Sequence[CronEvent]) -> list[dict[str, Any]]:
        """Fire scheduled() for all events concurrently; return {outcome, error, d1_queries, waited_ms} for each."""
        assert self._current is not None
        fired = [
            {
                "service": service_name(event.account, event.script),
                "cron": event.cron,
                "scheduledTime": event.at,
                "waits": event.waits,
            }
            for event in events
        ]
        response: list[dict[str, Any]] = await self._current.ask("/crons", {"events": fired})
        return response

    # -- databases ----------------------------------------------------------------------------------------------------

    def _databases_init(self) -> dict[str, Any]:
        day = self.today()
        accounts = {}
        for account in self.world.accounts.values():
            limits = account.limits.model_dump(include={"rows_read", "rows_written", "db_bytes"}, exclude_none=True)
            accounts[account.id] = {"limits": limits, "days": {}}
        return {
            "offset_ms": round(self.world.offset_s * 1000),
            "databases": {uuid: account.id for account in self.world.accounts.values() for uuid in account.databases},
            "accounts": accounts,
            "day": day,
        }

    async def _ask_databases(self, path: str, body: Any = None, **params: str) -> Any:
        response = await self._databases.post(path, params=params, json={} if body is None else body)
        response.raise_for_status()
        return response.json()

    async def set_meter(self, account: Account, day: int, usage: Usage) -> None:
        """Set the databases' row counts for a day."""
        counts = usage.model_dump(include={"rows_read", "rows_written", "read_queries", "write_queries"})
        await self._ask_databases("/update", {"accounts": {account.id: {"days": {str(day): counts}}}})

    async def query(self, database: str, statements: list[dict[str, Any]], format_: str) -> Any:
        """Run statements in one transaction. Returns a list of results with meta, or {success: false, error}."""
        await self._wait_until_known(database)
        return await self._ask_databases("/query", statements, db=database, resultsFormat=format_)

    async def database_stats(self, database: str) -> dict[str, int]:
        """Return {file_size (bytes), num_tables} of a database."""
        await self._wait_until_known(database)
        stats: dict[str, int] = await self._ask_databases("/stats", db=database)
        return stats

    async def _wait_until_known(self, database: str) -> None:
        """Wait until the processes know the database. The API lists a database as soon as it is created, which may be
        earlier.
        """
        if database not in self._known:
            async with self._lock:  # the update that adds the database has the lock, or is waiting for it
                pass

    async def destroy_database(self, database: str) -> None:
        """Delete a database's rows permanently."""
        await self._ask_databases("/destroy", db=database)

    async def stop(self) -> None:
        """End all processes."""
        for process in [self._current, *self._retiring]:
            if process is not None:
                await process.workerd.stop()
                await process.client.aclose()
                shutil.rmtree(process.folder, ignore_errors=True)
        if self._databases_process is not None:
            await self._databases_process.stop()
        await self._databases.aclose()
        self._databases_socket.close()


def _client(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=httpx.Timeout(60),
        verify=False,  # noqa: S501 (plain HTTP, and loading certificates takes longer than starting a Worker)
        limits=httpx.Limits(max_connections=100, keepalive_expiry=2),
    )  # fmt: skip


@asynccontextmanager
async def open_runtime(
    world: World, folder: Path, edge: socket.socket, *, emulator_port: int, origin_port: int,
    now: Callable[[], int], log: Callable[[str], None], local_egress: bool, runs_scripts: bool,
) -> AsyncIterator[Runtime]:  # fmt: skip
    """Run the scripts and the databases process until the block ends. Without `runs_scripts`, run only the latter.

    `local_egress`: a Worker's fetch can reach addresses of this host.
    """
    async with trio.open_nursery() as nursery:
        runtime = Runtime(
            world, folder, edge, emulator_port, origin_port, now, log, nursery,
            local_egress=local_egress, runs_scripts=runs_scripts,
        )  # fmt: skip
        await runtime.start()
        for account in world.accounts.values():
            for day, usage in account.usage.items():
                await runtime.set_meter(account, day, usage)
        try:
            yield runtime
        finally:
            with trio.CancelScope(shield=True):
                await runtime.collect()
                await runtime.stop()
            nursery.cancel_scope.cancel()
