"""Starts the emulator as a process of its own and speaks to it: for tests, benchmarks and the demonstration."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import trio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

START_S = 30
STOP_S = 10
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Customer:
    """An account that control has made. ``bootstrap_token`` is its value: a secret even here."""

    account_id: str
    bootstrap_token: str
    bootstrap_token_id: str
    zones: Mapping[str, str]  # name → id

    def __repr__(self) -> str:
        return f"Customer({self.account_id})"


@dataclass(frozen=True)
class Visit:
    """What a visitor got. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str


class Emulator:
    """A running emulator. Every method raises httpx.HTTPStatusError when control refuses the call."""

    def __init__(self, ready: Mapping[str, str], client: httpx.AsyncClient, pid: int) -> None:
        self.api, self.edge, self.control = ready["api"], ready["edge"], ready["control"]
        self.pid = pid
        self._client = client

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One call of control: the answer's JSON."""
        response = await self._client.request(method, self.control + path, json=body)
        if response.is_error:
            raise httpx.HTTPStatusError(response.text, request=response.request, response=response)
        return response.json()

    async def create_account(
        self,
        zones: Sequence[str | Mapping[str, Any]] = (),
        *,
        plan: str = "free",
        limits: Mapping[str, int | None] | None = None,
    ) -> Customer:
        """An account with zones (names, or {name, status?, paused?, dns?}) and a bootstrap token good for a day."""
        wanted = [{"name": zone} if isinstance(zone, str) else dict(zone) for zone in zones]
        body = {"zones": wanted, "plan": plan, "limits": dict(limits or {})}
        return Customer(**await self.ask("POST", "/accounts", body))

    async def create_token(self, account_id: str, **wanted: Any) -> tuple[str, str]:
        """Another token: (id, value). ``rights``: names of groups, ``zones``: names (default: all), ``name``,
        ``expires_in_s`` (default a day; None: never), ``condition``, ``delay_ms``."""
        answer = await self.ask("POST", f"/accounts/{account_id}/tokens", wanted)
        return answer["token_id"], answer["bootstrap_token"]

    async def set_zone(self, account_id: str, name: str, **wanted: Any) -> str:
        """Makes a zone, or changes one: ``status``, ``paused``, ``dns``. Returns its id."""
        answer = await self.ask("POST", f"/accounts/{account_id}/zones", {"name": name, **wanted})
        return str(answer["zone_id"])

    async def delete_zone(self, account_id: str, name: str) -> None:
        """Takes a zone away."""
        await self.ask("DELETE", f"/accounts/{account_id}/zones/{name}")

    async def set_limits(self, account_id: str, **limits: int | None) -> None:
        """Changes single limits of the account (names of state.Limits)."""
        await self.ask("POST", f"/accounts/{account_id}/limits", limits)

    async def cron(
        self, account_id: str, script: str, *, at: int | None = None, cron: str | None = None
    ) -> dict[str, Any]:
        """Fires a cron and returns {outcome, error, d1_queries, cron, at} once its waitUntil work has settled."""
        body = {"account_id": account_id, "script": script, "at": at, "cron": cron}
        answer: dict[str, Any] = await self.ask("POST", "/cron", body)
        return answer

    async def clock(self, offset_s: float) -> int:
        """Moves the platform's clock; returns its present (epoch ms)."""
        return int((await self.ask("POST", "/clock", {"offset_s": offset_s}))["now"])

    async def fault(self, kind: str, path: str = "*", **more: Any) -> None:
        """Lets the next calls that fit fail; ``more``: method, after, times, status, code … (see faults.Fault)."""
        await self.ask("POST", "/faults", {"kind": kind, "path": path, **more})

    async def faults(self) -> list[dict[str, Any]]:
        """Those that wait for a call that fits."""
        return list(await self.ask("GET", "/faults"))

    async def clear_faults(self) -> None:
        """Forgets all faults."""
        await self.ask("DELETE", "/faults")

    async def requests(self) -> list[dict[str, Any]]:
        """The API's log: method, path, query, status, token_id, fault, at."""
        return list((await self.ask("GET", "/requests"))["requests"])

    async def egress(self) -> list[dict[str, Any]]:
        """The workers' own fetches: account, script, method, target, fault, at."""
        return list((await self.ask("GET", "/requests"))["egress"])

    async def forget_requests(self) -> None:
        """Empties both logs."""
        await self.ask("DELETE", "/requests")

    async def state(self) -> dict[str, Any]:
        """All that the platform holds (see control.state)."""
        state: dict[str, Any] = await self.ask("GET", "/state")
        return state

    async def set_usage(self, account_id: str, day: int | str | None = None, **usage: int) -> None:
        """Sets what the account used on a day: ``requests``, ``rows_read``, ``rows_written``, ``size``."""
        await self.ask("POST", "/usage", {"account_id": account_id, "day": day, **usage})

    async def visit(
        self,
        host: str,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
        cf: Mapping[str, Any] | None = None,
        ip: str | None = None,
    ) -> Visit:
        """One request through the edge; redirects are not followed."""
        call: dict[str, Any] = {"host": host, "path": path, "method": method, "headers": dict(headers or {})}
        call |= {"body": body, "cf": None if cf is None else dict(cf), "ip": ip}
        return Visit(**await self.ask("POST", "/visit", call))

    async def add_page(self, host: str, path: str, body: str, **more: Any) -> None:
        """A page of the customer's own server (``content_type``, ``status``)."""
        await self.ask("POST", "/pages", {"host": host, "path": path, "body": body, **more})

    async def settled(self) -> None:
        """Returns when no worker invocation runs, waitUntil work included."""
        await self.ask("POST", "/settled", {})

    async def manners(self, **manners: int) -> None:
        """How rude the API is: ``token_delay_ms``, ``slow_one_in``, ``slow_ms``."""
        await self.ask("POST", "/manners", manners)


@asynccontextmanager
async def open_emulator(
    state_dir: Path | None = None,
    *,
    api_port: int = 0,
    edge_port: int = 0,
    run_crons: bool = False,
    token_delay_ms: int = 200,
    slow_one_in: int = 50,
) -> AsyncIterator[Emulator]:
    """An emulator as a process, ended with the block. What it and its workers print goes to our stderr.

    Raises RuntimeError when it does not start.
    """
    command = [sys.executable, "-m", "edge_worker.emulator", f"--api-port={api_port}", f"--edge-port={edge_port}"]
    command += [f"--token-delay-ms={token_delay_ms}", f"--slow-one-in={slow_one_in}"]
    if run_crons:
        command.append("--run-crons")
    if state_dir is not None:
        command.append(f"--state={state_dir}")
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    try:
        line = b""
        with trio.move_on_after(START_S):
            async for chunk in process.stdout:
                line += chunk
                if b"\n" in line:
                    break
        if b"\n" not in line:
            raise RuntimeError("the emulator did not start; its last words are above")
        async with httpx.AsyncClient(trust_env=False, timeout=90, verify=False) as client:  # noqa: S501 (plain HTTP)
            yield Emulator(json.loads(line), client, process.pid)
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            with trio.move_on_after(STOP_S):
                await process.wait()
            if process.returncode is None:
                process.kill()
                await process.wait()
            await process.stdout.aclose()
