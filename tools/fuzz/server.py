"""Fuzzes the HTTP server. It mutates, truncates, joins and interrupts valid HTTP/1.1 and HTTP/2 requests.

`python -m tools.fuzz.server --seconds 3600` fuzzes `svc serve` for an hour. A short run is part of the tests. The
fuzzer checks that the server still responds. The same seed leads to the same connections.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import trio

from edge_worker.harness.service import open_service

if TYPE_CHECKING:
    from collections.abc import Callable

_CONCURRENT = 20
_CHECK_EVERY = 200
# How long a client reads, at least. This time is short, because most requests get no response. On a busy machine, a
# client reads for `_SLOWER` times as long as the simplest request takes.
_READ_S = 0.02
_SLOWER = 3
_JSON = b'{"email": "a@example.com", "password": "12345678"}'


def _head(first: bytes, *fields: bytes) -> bytes:
    return b"\r\n".join([first, b"Host: x", *fields, b"", b""])


def http_1_requests() -> list[bytes]:
    """Return HTTP/1.1 requests like those of real clients, including unusual ones."""
    length = b"Content-Length: %d" % len(_JSON)
    json = b"Content-Type: application/json"
    chunked = b"Transfer-Encoding: chunked"
    in_chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (_JSON[:7], _JSON[7:])) + b"0\r\n\r\n"
    upgrade = (b"Connection: Upgrade", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Sec-WebSocket-Version: 13")
    return [
        _head(b"GET /healthz HTTP/1.1"),
        _head(b"GET /healthz HTTP/1.1") * 3,
        _head(b"GET /v1/links?limit=3&cursor=a HTTP/1.1", b"Authorization: Bearer svc_x"),
        _head(b"GET /v1/links/lnk_a/qr.svg?size=64 HTTP/1.1", b"Authorization: Bearer svc_x", b"Cookie: a=b; c=d"),
        _head(b"GET http://x:80/healthz HTTP/1.1"),
        _head(b"GET http://[::1:99999/x HTTP/1.1"),
        _head(b"OPTIONS * HTTP/1.1"),
        _head(b"CONNECT x:443 HTTP/1.1"),
        _head(b"HEAD /healthz HTTP/1.0", b"Connection: keep-alive"),
        _head(b"POST /auth/sign-in HTTP/1.1", json, length) + _JSON,
        _head(b"POST /auth/refresh HTTP/1.1", json, b"Cookie: __Host-svc_refresh=x", b"Content-Length: 2") + b"{}",
        _head(b"POST /auth/sign-in HTTP/1.1", json, chunked) + in_chunks,
        _head(b"POST /auth/sign-in HTTP/1.1", json, length, chunked) + in_chunks,
        _head(b"POST /edge/push HTTP/1.1", json, length, b"Expect: 100-continue", b"Authorization: Bearer w") + _JSON,
        _head(b"POST /edge/push HTTP/1.1", json, b"Content-Length: 1000000") + _JSON,
        _head(b"GET /healthz HTTP/1.1", b"Connection: Upgrade", b"Upgrade: h2c", b"HTTP2-Settings: AAA"),
        _head(b"GET /v1/me HTTP/1.1", b"Upgrade: websocket", *upgrade) + b"\x81\x85\x00\x00\x00\x00hello",
        _head(b"GET /v1/me HTTP/1.1", b"Upgrade: websocket", b"Sec-WebSocket-Extensions: \xff", *upgrade),
    ]


def http_2_requests() -> list[bytes]:
    """Return the bytes of HTTP/2 connections with prior knowledge. Some of them once crashed the server."""

    def client(talk: Callable[[h2.connection.H2Connection], None]) -> bytes:
        lax = h2.config.H2Configuration(
            validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding=None
        )
        connection = h2.connection.H2Connection(lax)
        connection.initiate_connection()
        talk(connection)
        return connection.data_to_send()

    def fields(method: bytes, path: bytes, *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        return [(b":method", method), (b":path", path), (b":scheme", b"http"), (b":authority", b"x"), *more]

    def get(connection: h2.connection.H2Connection) -> None:
        connection.send_headers(1, fields(b"GET", b"/healthz"), end_stream=True)

    def upload(connection: h2.connection.H2Connection) -> None:
        connection.send_headers(1, fields(b"POST", b"/v1/keys"))
        for _ in range(3):
            connection.send_data(1, b"x" * 16_000)
        connection.send_data(1, b"", end_stream=True)

    def tunnel(connection: h2.connection.H2Connection) -> None:
        connection.send_headers(1, fields(b"CONNECT", b"/v1/me", (b":protocol", b"websocket")))
        connection.send_data(1, b"\x81\x85\x00\x00\x00\x00hello")

    def bare_connect(connection: h2.connection.H2Connection) -> None:
        connection.send_headers(1, [(b":method", b"CONNECT"), (b":authority", b"x")])

    def not_ascii(connection: h2.connection.H2Connection) -> None:
        connection.send_headers(1, fields(b"G\xffT", b"/\xff"), end_stream=True)

    def priorities(connection: h2.connection.H2Connection) -> None:
        for stream in range(1, 2_004, 2):
            connection.prioritize(stream, weight=16)

    return [client(talk) for talk in (get, upload, tunnel, bare_connect, not_ascii, priorities)]


def mutated(seeds: list[bytes], chance: random.Random) -> bytes:
    """Return one seed or two joined seeds, with random damage."""
    data = bytearray(chance.choice(seeds))
    if chance.random() < 0.3:
        other = chance.choice(seeds)
        data = data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other)) :]
    for _ in range(chance.choice((0, 1, 1, 2, 5, 20))):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[at:at] = bytes([chance.randrange(256)])
            case 1:
                del data[at : at + chance.randrange(1, 10)]
            case 2 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 3:
                data[at:at] = chance.choice((b"\r\n", b"\n", b"\x00", b"\xff", b": ", b" ", b"%00", b"?", b"0\r\n\r\n"))
            case 4:
                data[at:at] = data[at : at + chance.randrange(1, 200)] * chance.randrange(1, 20)
            case _:
                data[at:at] = str(chance.choice((-1, 0, 2**31, 2**64, 10**30))).encode()
    return bytes(data)


async def one(port: int, data: bytes, chance: random.Random, read_s: float) -> str:
    """Open a connection, send chunks, read briefly, and close the connection in a random way.

    Return the response's first line, or "reset" if the server resets the connection.
    """
    first = b""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        try:
            cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
            for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
                await stream.send_all(data[begin:end])
            if chance.random() < 0.3:
                await stream.send_eof()
            if chance.random() < 0.8:
                with trio.move_on_after(read_s):
                    first = await stream.receive_some(4_096)
        except trio.BrokenResourceError:
            return "reset"
    return first.split(b"\r\n", 1)[0].decode("latin1")


async def fuzz(port: int, seed: int, *, connections: int, seconds: float = float("inf")) -> Counter[str]:
    """Open many connections, several at a time. Return the number of responses by their first line.

    Raises AssertionError if the server no longer responds.
    """
    chance = random.Random(seed)  # reproducible; not used for secrets
    seeds = http_1_requests() + http_2_requests()
    seen: Counter[str] = Counter()
    done = 0
    ends_at = time.monotonic() + seconds

    async def some(count: int, own: random.Random, read_s: float) -> None:
        for _ in range(count):
            seen[await one(port, mutated(seeds, own), own, read_s)] += 1

    while done < connections and time.monotonic() < ends_at:
        read_s = max(_READ_S, _SLOWER * await _response_s(port, f"seed {seed}, after {done} connections"))
        count = min(_CHECK_EVERY, connections - done) // _CONCURRENT or 1
        async with trio.open_nursery() as nursery:
            for _ in range(_CONCURRENT):
                nursery.start_soon(some, count, random.Random(chance.random()), read_s)
        done += count * _CONCURRENT
    await _response_s(port, f"seed {seed}, at the end")
    return seen


async def _response_s(port: int, when: str) -> float:
    """Return the duration of the simplest request in seconds. Raises AssertionError if it gets no response."""
    began = time.monotonic()
    with trio.move_on_after(30):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(http_1_requests()[0])
            response = await stream.receive_some(4_096)
            assert response.startswith(b"HTTP/1.1 200 "), f"{when}: {response[:100]!r}"
            return time.monotonic() - began
    raise AssertionError(f"{when}: no response")


async def main(seconds: float, seed: int) -> None:
    """Start the service, fuzz it, and print the number of each kind of response."""
    with tempfile.TemporaryDirectory(prefix="svc-fuzz-") as folder:
        async with open_service(Path(folder), {}) as service:
            sys.stdout.write(f"seed {seed}, {service.url}\n")
            port = int(service.url.rpartition(":")[2])
            seen = await fuzz(port, seed, connections=sys.maxsize, seconds=seconds)
            log = (Path(folder) / "log").read_text()
    total = sum(seen.values())
    for line, count in seen.most_common(20):
        sys.stdout.write(f"{count:>9}  {line[:80]!r}\n")
    faults = [line for line in log.splitlines() if '"error"' in line or "connection failed" in line]
    sys.stdout.write(f"{total} connections, {len(faults)} errors in the log\n" + "\n".join(faults[:5]) + "\n")
    if faults:
        raise SystemExit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3_600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    arguments = parser.parse_args()
    trio.run(main, arguments.seconds, arguments.seed)
