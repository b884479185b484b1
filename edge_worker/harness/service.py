"""Runs the service in a separate process, and provides a simple client for its API, for the demo and the tests."""

from __future__ import annotations

import email
import email.policy
import json
import os
import re
import signal
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from edge_worker.local_http import local_client
from edge_worker.programs import end_program, first_line, open_program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    import httpx

    from edge_worker.programs import Fork

T = TypeVar("T")

# Runs `svc serve` with a different Worker bundle than that of the package.
_SERVE_BUNDLE = """
import json, os, sys
from functools import partial
from pathlib import Path
import trio
from svc.config import load
from svc.logs import set_up_logging
from svc.main import run
from svc.worker.bundle import load_bundle

def announce(url):
    print(json.dumps({"ready": True, "url": url}), flush=True)

set_up_logging()
trio.run(partial(run, load(None, os.environ), announce, bundle=load_bundle(Path(sys.argv[1]))))
"""

# Polling starts with short pauses, which become longer up to a limit.
_FIRST_PAUSE_S, _PAUSE_S, _PAUSE_GROWTH = 0.01, 0.2, 1.5
_SETTLES_S = 90.0


@dataclass(frozen=True)
class Program:
    """A `svc` program that does not run from these sources: a binary, or an installation in a root tree or a container.

    `command`: takes the environment and returns the command that starts the service. `kill`: the command that kills the
    service; empty if it is sufficient to kill the process that `command` started.
    """

    command: Callable[[dict[str, str]], Sequence[str | Path]]
    kill: Sequence[str | Path] = ()


@dataclass
class Service:
    """A running `svc serve`. `folder` contains its database, key file, emails and log. `kill_command` is
    `Program.kill`.
    """

    url: str
    process: trio.Process | Fork
    folder: Path
    client: httpx.AsyncClient
    headers: dict[str, str] = field(default_factory=dict)
    kill_command: Sequence[str | Path] = ()

    async def call(
        self, method: str, path: str, body: object = None, *, expect: int | None = None, key: str | None = None
    ) -> Any:
        """Send one request with the client's credential and return the JSON of its response.

        Raises AssertionError if the status is not `expect` (None: any 2xx).
        """
        headers = {**self.headers, **({"Idempotency-Key": key} if key else {})}
        response = await self.client.request(method, f"{self.url}{path}", json=body, headers=headers)
        ok = response.status_code == expect if expect is not None else response.is_success
        if not ok:
            raise AssertionError(f"{method} {path}: {response.status_code} {response.text}")
        return response.json()

    async def sign_up(self, address: str, password: str) -> None:
        """Sign up, follow the link in the email, and sign in. Later calls use the session."""
        await self.call("POST", "/auth/sign-up", {"email": address, "password": password}, expect=202)
        token = await self.mailed_token(address, "confirm")
        await self.call("POST", "/auth/confirm", {"token": token})
        await self.sign_in(address, password)

    async def sign_in(self, address: str, password: str) -> None:
        """Sign in. Later calls use the session."""
        session = await self.call("POST", "/auth/sign-in", {"email": address, "password": password})
        self.headers = {"Authorization": f"Bearer {session['access_token']}"}

    async def mailed_token(self, address: str, purpose: str) -> str:
        """Wait for an email with this purpose (confirm, reset) to an address.

        Return the token in the newest such email.
        """

        async def poll() -> str | None:
            for path in sorted((self.folder / "mail").glob("*.eml"), reverse=True):
                message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
                text = message.get_body(("plain",))
                found = re.search(rf"/{purpose}\?token=([\w-]+)", text.get_content() if text else "")
                if found and address in str(message["To"]):
                    return found[1]
            return None

        return await eventually(poll)

    async def account_in(self, account_id: str, *states: str) -> dict[str, Any]:
        """Wait until the account's state is one of `states`, and return the account."""

        async def poll() -> dict[str, Any] | None:
            account: dict[str, Any] = (await self.call("GET", f"/v1/accounts/{account_id}"))["account"]
            return account if account["state"] in states else None

        return await eventually(poll)

    async def synced(self, *paths: str) -> None:
        """Wait until the Worker's database contains all of these sites and links, and their routes exist."""
        for path in paths:

            async def poll(path: str = path) -> bool | None:
                [thing] = (await self.call("GET", path)).values()
                host = None
                if path.startswith("/v1/links"):
                    host = (await self.call("GET", f"/v1/accounts/{thing['account_id']}"))["account"]["link_host"]
                return is_live(thing, host) or None

            await eventually(poll)

    async def kill(self) -> None:
        """Kill the service with SIGKILL, to simulate a power failure."""
        if self.kill_command:
            await trio.run_process(self.kill_command)
        else:
            self.process.kill()
        await self.process.wait()


def is_live(target: dict[str, Any], link_host: dict[str, Any] | None) -> bool:
    """Return True if visitors reach the current version of a site or link. A link needs the route of its link host."""
    routed = link_host is None or link_host["state"] == "active"
    return target["config"] == "synced" and target["state"] == "active" and bool(routed)


async def eventually(poll: Callable[[], Awaitable[T | None]], every_s: float = _PAUSE_S) -> T:
    """Call `poll` repeatedly, and return its first result that is not None.

    Pauses at most `every_s` between calls. Raises AssertionError after 90 s.
    """
    pause_s = min(_FIRST_PAUSE_S, every_s)
    with trio.move_on_after(_SETTLES_S):
        while True:
            found = await poll()
            if found is not None:
                return found
            await trio.sleep(pause_s)
            pause_s = min(pause_s * _PAUSE_GROWTH, every_s)
    raise AssertionError("the expected state was not reached in time")


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a service on a free port, with files in `folder` and these SVC_… settings."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    return environ | {
        "SVC_HTTP_BIND": "127.0.0.1:0",
        "SVC_STORE_URL": f"sqlite:///{folder / 'svc.db'}",
        "SVC_VAULT_KEY_FILE": str(folder / "vault.key"),
        "SVC_MAIL_FOLDER": str(folder / "mail"),
        # The Workers in the emulator push to an address on this host.
        "SVC_WORKER_ALLOW_LOCAL_PUSH": "true",
        # Allow many pushes: tests move the Workers' clocks by days, and the Workers then send the pushes of all these
        # days.
        "SVC_LIMITS_PUSHES_PER_MINUTE": "1000000",
        # Tests poll the API at short intervals.
        "SVC_LIMITS_REQUESTS_PER_MINUTE": "1000000",
        **settings,
    }


@asynccontextmanager
async def open_service(
    folder: Path,
    settings: Mapping[str, str],
    bundle: Path | None = None,
    program: Program | None = None,
    *,
    arguments: Sequence[str] = ("-m", "svc", "serve"),
) -> AsyncIterator[Service]:
    """Run `svc serve` on a free port, with its files in `folder` and SVC_… `settings`. Send SIGTERM when the block
    ends.

    `bundle`: the folder with the Worker bundle (None: that of the package). `program`: the program to run (None: these
    sources, with `python <arguments>`).

    Raises AssertionError if the service does not start, or ends with an error status.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environ = environment(folder, settings)
    with (folder / "log").open("ab") as log:
        if program is not None:
            process: trio.Process | Fork = await trio.lowlevel.open_process(
                program.command(environ), env=environ, stdout=subprocess.PIPE, stderr=log
            )
        else:
            serve = arguments if bundle is None else ["-c", _SERVE_BUNDLE, str(bundle)]
            process = await open_program(serve, environ=environ, stderr=log.fileno())
    try:
        ready = await first_line(process)
        if not ready:
            raise AssertionError(f"svc serve did not start:\n{(folder / 'log').read_text()}")
        # A connect request takes a long time, because the service waits until the platform has distributed the new
        # token.
        async with local_client(timeout=60) as client:
            kill = program.kill if program else ()
            yield Service(json.loads(ready)["url"], process, folder, client, kill_command=kill)
    finally:
        with trio.CancelScope(shield=True):
            status = await end_program(process)
    # the last is a container runtime's status after SIGKILL
    if status not in (0, -signal.SIGKILL, 128 + signal.SIGKILL):
        raise AssertionError(f"svc serve ended with status {status}:\n{(folder / 'log').read_text()}")
