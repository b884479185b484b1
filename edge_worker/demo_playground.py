"""The demo's playground: a URL that signs the user in, a second account to connect, and a URL that sends a page view.

A small server on another port of this host signs in through the service's API and passes on the service's cookies.
Browsers share cookies between the ports of a host. The server's URLs contain a secret, because other users of this host
could also reach the port.
"""

from __future__ import annotations

import json
import secrets
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import httpx
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.visitors import DESKTOP_CHROME
from edge_worker.local_http import local_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Emulator
    from edge_worker.harness.service import Service

SECOND_HOST = "second.example"
_LONGEST_REQUEST_BYTES = 16_384
_REQUEST_S = 10


@dataclass(frozen=True)
class Address:
    """The port of the playground, and the secret in its URLs."""

    listener: trio.SocketListener
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)

    @property
    def port(self) -> int:
        """The port's number."""
        port: int = self.listener.socket.getsockname()[1]
        return port

    @property
    def sign_in_url(self) -> str:
        """The URL that signs in and opens the web application."""
        return f"http://127.0.0.1:{self.port}/{self.secret}/sign-in"

    @property
    def visit_url(self) -> str:
        """The URL that sends a view of a page on the second account's site."""
        return f"http://127.0.0.1:{self.port}/{self.secret}/visit"


@asynccontextmanager
async def open_address() -> AsyncIterator[Address]:
    """Listen on a free port of this machine. Call this before the service starts, because the service's pages link to
    the port.
    """
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        yield Address(listener)


async def offer_account(emulator: Emulator, address: Address) -> str:
    """Create an account that the user can connect. Return the value of the `[web] demonstration` setting."""
    account = await emulator.create_account([proxied_zone(SECOND_HOST)])
    offered = {
        "edge_account_id": account.account_id,
        "bootstrap_token": account.bootstrap_token,
        "host": SECOND_HOST,
        "visit_url": address.visit_url,
    }
    return json.dumps(offered)


class Playground:
    """The playground's server, and the cron jobs of the emulated platform."""

    def __init__(self, emulator: Emulator, service: Service, address: Address, email: str, password: str) -> None:
        self._emulator = emulator
        self._service = service
        self._address = address
        self._credentials = {"email": email, "password": password}

    async def serve(self) -> None:
        """Serve the sign-in URL and the visit URL until canceled."""
        await trio.serve_listeners(self._respond, [self._address.listener])

    async def run_crons(self) -> None:
        """At the start of each minute, run all cron jobs that are due."""
        # By default, a new cron trigger takes up to 15 minutes to start.
        await self._emulator.set_failure_settings(cron_delay_s=0)
        while True:
            await trio.sleep(60 - time.time() % 60)
            await self._emulator.minute()

    async def _respond(self, stream: trio.SocketStream) -> None:
        request = b""
        with trio.move_on_after(_REQUEST_S):
            try:
                while b"\r\n\r\n" not in request and len(request) < _LONGEST_REQUEST_BYTES:
                    chunk = await stream.receive_some()
                    if not chunk:
                        return
                    request += chunk
                await stream.send_all(await self._response(request))
            except trio.BrokenResourceError:  # the browser disconnected
                return
        await stream.aclose()

    async def _response(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        path, _, query = rest.partition(b" ")[0].partition(b"?")
        _, secret, action, *_ = (*path.split(b"/"), b"", b"", b"")
        if method != b"GET" or not secrets.compare_digest(secret, self._address.secret.encode()):
            return _reply(HTTPStatus.NOT_FOUND, "Not found")
        try:
            if action == b"sign-in":
                return await self._sign_in()
            if action == b"visit":
                asked = parse_qs(query.decode("latin-1")).get("path", [""])[0]
                return _reply(HTTPStatus.OK, await self._visit(asked))
        except httpx.HTTPError as error:
            return _reply(HTTPStatus.BAD_GATEWAY, f"The service did not respond as expected: {error}")
        return _reply(HTTPStatus.NOT_FOUND, "Not found")

    async def _sign_in(self) -> bytes:
        """Sign in, and redirect to the web application with the service's cookies."""
        # Use a client without cookies: if a sign-in sends a refresh cookie, the service ends the session of that
        # cookie.
        async with local_client() as client:
            response = await client.post(f"{self._service.url}/auth/sign-in", json=self._credentials)
        response.raise_for_status()
        cookies = [("Set-Cookie", value) for value in response.headers.get_list("Set-Cookie")]
        return _reply(HTTPStatus.SEE_OTHER, "Signed in", ("Location", f"{self._service.url}/"), *cookies)

    async def _visit(self, path: str) -> str:
        """Send a page view, as the snippet does in a browser. Return a message about the result.

        `path`: the tracking path of the site, which the web application adds to the URL. With "", the view is sent to
        the demo user's site on `SECOND_HOST`.
        """
        path = path or await self._path_of_site()
        if not path:
            return f"There is no site on {SECOND_HOST} yet. Connect the second account and add a site first."
        if not path.startswith("/"):
            return "The path parameter must begin with a slash."
        headers = {
            "User-Agent": DESKTOP_CHROME.user_agent,
            "Content-Type": "text/plain",
            "Origin": f"https://{SECOND_HOST}",
        }
        response = await self._emulator.visit(SECOND_HOST, path, method="POST", headers=headers, body="/\n")
        if response.status != HTTPStatus.NO_CONTENT:
            return f"The view was not counted (status {response.status}). Try again in a few seconds."
        return f"Viewed https://{SECOND_HOST}/ once. The site's page shows the view within seconds."

    async def _path_of_site(self) -> str:
        """Return the tracking path of the demo user's site on the second host, or "" if there is no such site."""
        asked = f"{self._service.url}/v1/sites?q={SECOND_HOST}"
        listed = await self._service.client.get(asked, headers=self._service.headers)
        listed.raise_for_status()
        sites = listed.json()["sites"]
        return str(sites[0]["path"]) if sites else ""


def _reply(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> bytes:
    body = f"{text}\n".encode()
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
