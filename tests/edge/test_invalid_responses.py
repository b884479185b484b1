"""Tests with malformed and unusual responses. A local server sends them byte for byte."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import trio

from svc.config import EdgeConfig
from svc.edge import analytics, d1, tokens, workers, zones
from svc.edge.client import open_edge
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.edge.access import Access

TOKEN = "t" * 40
HUGE = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"


def response(result: object, *, headers: str = "", status: str = "200 OK", **info: int) -> bytes:
    """Return an HTTP response with this result in the API's envelope."""
    body = json.dumps({"success": True, "errors": [], "messages": [], "result": result, "result_info": info or None})
    return f"HTTP/1.1 {status}\r\n{headers}content-length: {len(body)}\r\n\r\n{body}".encode()


@asynccontextmanager
async def open_scripted_server(
    responses: list[bytes], *, retries: int = 3, timeout_s: float = 5
) -> AsyncIterator[tuple[Access, list[str]]]:
    """Start a server that sends these responses, one per connection. Yield an Access and the received requests."""
    requests: list[str] = []

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            received = b""
            while b"\r\n\r\n" not in received:
                more = await stream.receive_some()
                if not more:
                    return
                received += more
            requests.append(received.decode())
            try:
                response = responses.pop(0)
                await stream.send_all(response.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))
                while response.startswith(HUGE):  # this response never ends
                    await stream.send_all(b" " * 65_536)
            except trio.BrokenResourceError:
                return

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        config = EdgeConfig(api_base_url=f"http://127.0.0.1:{port}/client/v4", retries=retries, timeout_s=timeout_s)
        async with open_edge(config, first_wait_s=0.001) as edge:
            yield edge.access("a" * 32, TOKEN), requests
        nursery.cancel_scope.cancel()


RIGHTS = tokens.WORKING_PERMISSIONS
ACTIVE = {"id": "tok1", "status": "active"}


async def test_cookies_are_not_stored() -> None:
    cookie = "set-cookie: __cf_bm=one-account; path=/\r\n"
    async with open_scripted_server([response(ACTIVE, headers=cookie), response(ACTIVE)]) as (access, requests):
        await tokens.verify(access)
        await tokens.verify(access)
    assert [head.lower().count("\r\ncookie:") for head in requests] == [0, 0]


async def test_a_redirect_is_not_followed() -> None:
    elsewhere = response(None, status="302 Found", headers="location: http://127.0.0.1:1/steal\r\n")
    async with open_scripted_server([elsewhere], retries=0) as (access, requests):
        with pytest.raises((EdgeUnavailable, EdgeRefused)):
            await tokens.verify(access)
    assert len(requests) == 1


async def test_oversized_response_is_aborted() -> None:
    async with open_scripted_server([HUGE], timeout_s=60) as (access, _):
        with pytest.raises(EdgeRefused, match="too large"):
            await d1.query(access, "db1", [("select 1", [])])


@pytest.mark.parametrize("results", [[], [{"results": [], "meta": {}}] * 2])
async def test_response_of_a_database_without_one_result_per_statement_is_a_failure(results: list[object]) -> None:
    async with open_scripted_server([response(results)], retries=0) as (access, _):
        with pytest.raises(EdgeUnavailable, match="one result per statement"):
            await d1.query(access, "db1", [("select 1", [])])


@pytest.mark.parametrize(
    "half", [b'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"success":', b"\r\n\r\n", b"junk\r\n\r\n"]
)
async def test_truncated_response_to_a_create_is_unknown(half: bytes) -> None:
    async with open_scripted_server([half]) as (access, requests):
        with pytest.raises(EdgeUnknown):
            await d1.create(access, "svc-edge")
    assert len(requests) == 1


async def test_unknown_format_is_reported_by_field_without_value() -> None:
    odd = response({"id": "tok1", "name": "svc-op_1", "value": ["cfat_secret"], "policies": []})
    async with open_scripted_server([odd]) as (access, _):
        with pytest.raises(EdgeUnknown, match="at value") as caught:
            await tokens.create(access, "svc-op_1", [], 1_900_000_000_000)
    assert "cfat_secret" not in repr(caught.value) + str(caught.value.__context__)


async def test_id_with_path_characters_is_rejected() -> None:
    odd = response([{"uuid": "../../tokens", "name": "svc-edge", "created_at": "2026-11-21T04:00:00Z"}])
    async with open_scripted_server([odd], retries=0) as (access, _):
        with pytest.raises(EdgeUnavailable, match=r"at 0\.uuid"):
            await d1.find(access, "svc-edge")


def page(number: int, names: str, total: int) -> bytes:
    """Return a response with a page of zones that have one-letter names."""
    found = [{"id": name, "name": name, "status": "active"} for name in names]
    return response(found, page=number, total_count=total, per_page=2, count=len(found))


async def test_list_that_changes_between_pages_is_read_again() -> None:
    # a zone that was added between the two pages shifts the list, so b appears twice and d is missing
    first_pass = [page(1, "ab", 4), page(2, "bc", 4)]
    second_pass = [page(1, "ba", 4), page(2, "cd", 4)]
    async with open_scripted_server([*first_pass, *second_pass]) as (access, _):
        listed, _ = await zones.list_zones(access)
    assert [zone.name for zone in listed] == ["a", "b", "c", "d"]


async def test_list_shorter_than_its_total_ends() -> None:
    once = [page(1, "ab", 9), page(2, "c", 9), page(3, "", 9)]
    async with open_scripted_server([*once, *once]) as (access, requests):
        listed, _ = await zones.list_zones(access)
    assert [zone.name for zone in listed] == ["a", "b", "c"]
    assert len(requests) == 6


async def test_endpoint_that_ignores_paging_is_read_twice_at_most() -> None:
    zone = [{"id": "a", "name": "a", "status": "active"}]
    async with open_scripted_server([response(zone, per_page=1), response(zone, per_page=1)]) as (access, requests):
        listed, _ = await zones.list_zones(access)
    assert [each.name for each in listed] == ["a"]
    assert len(requests) == 2


async def test_permission_groups_are_not_paged() -> None:
    groups = [{"id": right.name.replace(" ", "_"), "name": right.name, "scopes": [right.scope]} for right in RIGHTS]
    async with open_scripted_server([response(groups, page=1, total_pages=9)]) as (access, requests):
        assert len(await tokens.permission_groups(access)) == len(groups)
    assert len(requests) == 1
    assert "per_page" not in requests[0]


async def test_missing_fields_of_other_scripts_and_databases_are_accepted() -> None:
    nothing = {"id": None, "etag": None, "tags": None, "uuid": None, "name": None, "created_at": None}
    own = {"id": "svc-edge", "etag": None, "tags": ["svc-account:acc_1"]}
    async with open_scripted_server([response([nothing, {}, own])]) as (access, _):
        assert await workers.get_script(access, "svc-edge") == workers.Script("svc-edge", None, ("svc-account:acc_1",))
    made = {"uuid": "0" * 32, "name": "svc-edge", "created_at": "2026-01-01T00:00:00Z"}
    async with open_scripted_server([response([nothing, {}, made]), response(made)]) as (access, _):
        found = await d1.find(access, "svc-edge")
        assert found is not None
        assert found.id == "0" * 32


def graph(data: object) -> bytes:
    """Return an HTTP response of the analytics API with this data."""
    body = json.dumps({"data": data, "errors": None})
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


SURE = {"sum": {"requests": {"estimate": 7, "lower": 7, "upper": 7}}}


def requests_row(**more: object) -> object:
    row = {"dimensions": {"date": "2026-11-20"}, "sum": {"requests": 7}, **more}
    return {"viewer": {"accounts": [{"workers": [row], "pages": []}]}}


@pytest.mark.rule("A24")
@pytest.mark.parametrize(
    "data",
    [
        {"viewer": {"accounts": []}},
        requests_row(),
        requests_row(confidence=None),
        requests_row(confidence={"sum": {"requests": {"estimate": 7, "lower": None, "upper": None}}}),
        requests_row(confidence={"sum": {"requests": {"estimate": "NaN", "lower": 7, "upper": 7}}}),
        {"viewer": {"accounts": [{"workers": None, "pages": []}]}},
        requests_row(confidence=SURE, dimensions={"date": "yesterday"}),
    ],
    ids=["missing account", "no interval", "null", "no bounds", "not a number", "no rows", "invalid day"],
)
async def test_incomplete_figures_are_rejected(data: object) -> None:
    async with open_scripted_server([graph(data)], retries=0) as (access, _):
        with pytest.raises((EdgeRefused, EdgeUnavailable)):
            await analytics.request_days(access, 20_777, 20_777)
