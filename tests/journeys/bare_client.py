"""A minimal HTTP client. Each request has a separate connection, which is closed if the request is cancelled."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import h11
import trio

if TYPE_CHECKING:
    from collections.abc import Mapping


class NoResponse(Exception):
    """The connection failed, or ended before the response was complete."""


@dataclass(frozen=True)
class Response:
    """An HTTP response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the response's parsed JSON body."""
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """Return the code of an error response, otherwise None."""
        return self.json["error"]["code"] if self.status >= 400 else None


async def request(url: str, method: str, path: str, headers: Mapping[str, str], body: object = None) -> Response:
    """Send a request, with a JSON body unless `body` is None, and return the response. Raises NoResponse."""
    address = urlsplit(url)
    raw = b"" if body is None else json.dumps(body).encode()
    sent = {"Host": address.netloc, "Connection": "close", "Content-Length": str(len(raw)), **headers}
    if raw:
        sent["Content-Type"] = "application/json"
    client = h11.Connection(h11.CLIENT)
    data = client.send(h11.Request(method=method, target=path, headers=list(sent.items()))) or b""
    data += (client.send(h11.Data(raw)) or b"") + (client.send(h11.EndOfMessage()) or b"")
    try:
        async with await trio.open_tcp_stream(address.hostname or "", address.port or 80) as stream:
            await stream.send_all(data)
            return await _respond(client, stream)
    except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError) as error:
        raise NoResponse from error


async def _respond(client: h11.Connection, stream: trio.SocketStream) -> Response:
    status, headers, body = 0, {}, b""
    while True:
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode(): value.decode() for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return Response(status, headers, body)
