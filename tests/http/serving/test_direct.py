"""Requests that bypass the framework get the same responses as all other requests. The tests use real sockets."""

from __future__ import annotations

import json

import pytest
import trio

from svc.ids import digest, new_secret
from svc.store import worker_keys
from svc.store.tx import sql
from tests.http.serving.test_sockets import head, port, response_of
from tests.secrecy import log_lines

__all__ = ["port"]  # a fixture

PUSH = {
    "v": 1, "install": "op_1", "bundle": "b", "schema": 1, "sent_at": 0, "queue": 0, "error": None, "dropped": {},
    "parts": [],
}  # fmt: skip
LARGE_BYTES = 1_048_576
JSON = "application/json"


@pytest.fixture
async def bearer(world):
    """A Worker's credential."""
    account = await world.account(await world.user())
    key = new_secret("svcw_")
    await world.store.run(worker_keys.add_worker_key(account.id, digest(key), "op_1"))
    return f"Bearer {key}"


async def exchange(port, *packets, method="POST"):
    """Send these packets. Return the status, headers and body of the response."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        for packet in packets:
            await stream.send_all(packet)
        return await response_of(stream, method)


def push_request(bearer, body=PUSH, path="/edge/push", **headers):
    raw = json.dumps(body).encode()
    more = {"Content_Type": JSON, "Content_Length": len(raw), "Authorization": bearer, **headers}
    return head("POST", path, **more) + raw


def names(headers):
    """Return the header names, except those that depend on the request.

    For example, `connection` is sent only if the service responds before the end of the body.
    """
    return set(headers) - {"connection", "www-authenticate", "retry-after"}


@pytest.mark.rule("G9")
async def test_response_to_a_push_has_the_usual_headers(port, bearer):
    status, headers, body = await exchange(port, push_request(bearer))
    assert (status, json.loads(body)["ok"], headers["content-type"]) == (200, True, JSON)
    _, other_headers, _ = await exchange(port, head("GET", "/healthz"), method="GET")
    assert names(headers) == names(other_headers)
    refused, headers, body = await exchange(port, push_request("Bearer unknown"))
    assert (refused, json.loads(body)["error"]["code"], headers["www-authenticate"]) == (401, "unauthorized", "Bearer")
    other, other_headers, _ = await exchange(port, push_request("Bearer unknown", path="/v1/sites"))
    assert (other, other_headers["www-authenticate"]) == (401, "Bearer")
    assert names(headers) == names(other_headers)


async def test_equivalent_paths_reach_the_push(port, bearer):
    for path in ("/edge/push?x=1", "/edge/%70ush", "//edge/push", "http://x/edge/push"):
        assert (await exchange(port, push_request(bearer, path=path)))[0] == 200, path
    for path in ("/edge/push/", "/edge//push", "/edge/Push"):
        assert (await exchange(port, push_request(bearer, path=path)))[0] == 404, path


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_are_refused(port, bearer, method):
    status, headers, _ = await exchange(port, head(method, "/edge/push", Authorization=bearer), method=method)
    assert (status, headers["allow"]) == (405, "POST")


async def test_requests_on_one_connection_are_answered_in_order(port, bearer):
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        for _ in range(3):
            await stream.send_all(push_request(bearer))
            assert (await response_of(stream, "POST"))[0] == 200
            await stream.send_all(head("GET", "/healthz"))
            assert (await response_of(stream))[0] == 200


@pytest.mark.rule("C13")
@pytest.mark.parametrize("how", ["declared", "in chunks"])
async def test_too_large_push_is_refused(port, bearer, how):
    fields = {"Content_Type": JSON, "Authorization": bearer}
    if how == "declared":
        packets = [head("POST", "/edge/push", Content_Length=LARGE_BYTES + 1, **fields)]
    else:
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        packets = [head("POST", "/edge/push", Transfer_Encoding="chunked", **fields), *[chunk] * 17]
    status, _, body = await exchange(port, *packets)
    assert (status, json.loads(body)["error"]["code"]) == (413, "payload_too_large")


async def test_request_without_valid_key_is_answered_before_its_body_arrives(port):
    fields = {"Content_Type": JSON, "Authorization": "Bearer unknown", "Content_Length": LARGE_BYTES}
    status, headers, _ = await exchange(port, head("POST", "/edge/push", **fields), b"{" * 200_000)
    assert (status, headers["connection"]) == (401, "close")


async def test_push_that_is_not_json_is_refused(port, bearer):
    for packet in (
        push_request(bearer, Content_Type="text/plain"),
        push_request(bearer, "no object"),
        push_request(bearer, []),
    ):
        status, _, body = await exchange(port, packet)
        assert (status, json.loads(body)["error"]["code"]) == (400, "invalid_request")
    assert (await exchange(port, push_request(bearer, Content_Type="Application/JSON; charset=utf-8")))[0] == 200


async def test_body_that_does_not_arrive_times_out(port, bearer):
    fields = {"Content_Type": JSON, "Authorization": bearer, "Content_Length": 100}
    status, _, body = await exchange(port, head("POST", "/edge/push", **fields), b"{")
    assert status == 400
    assert "did not arrive in time" in body.decode()


async def test_worker_that_disconnects_during_its_push_causes_no_error(world, port, bearer):
    fields = {"Content_Type": JSON, "Authorization": bearer, "Content_Length": 10_000}
    for part in (b"", b'{"v": 1'):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(head("POST", "/edge/push", **fields) + part)
    assert (await exchange(port, push_request(bearer)))[0] == 200  # an ERROR in the log would fail the test


async def test_internal_error_has_the_request_id_of_its_log_line(world, port, bearer, expected_errors):
    expected_errors.allow("request failed")
    await world.store.run(_break())
    with log_lines() as lines:
        status, headers, body = await exchange(port, push_request(bearer))
    error = json.loads(body)["error"]
    assert (status, error["code"], error["details"]["id"]) == (500, "internal", headers["x-request-id"])
    [line] = [json.loads(text) for text in lines if '"request failed"' in text]
    assert (line["request"], line["route"]) == (error["details"]["id"], "/edge/push")


def _break():
    yield sql("alter table worker_keys rename to something_else")
