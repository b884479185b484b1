"""Answers that the emulator is too well-bred for: a server on this machine gives them byte for byte."""

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


def answer(result: object, *, headers: str = "", status: str = "200 OK", **info: int) -> bytes:
    """A whole HTTP answer with the envelope of the API."""
    body = json.dumps({"success": True, "errors": [], "messages": [], "result": result, "result_info": info or None})
    return f"HTTP/1.1 {status}\r\n{headers}content-length: {len(body)}\r\n\r\n{body}".encode()


@asynccontextmanager
async def rude(
    answers: list[bytes], *, retries: int = 3, timeout_s: float = 5
) -> AsyncIterator[tuple[Access, list[str]]]:
    """An Access to a server that gives these answers in turn, one a connection; and what the server was asked."""
    asked: list[str] = []

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            heard = b""
            while b"\r\n\r\n" not in heard:
                more = await stream.receive_some()
                if not more:
                    return
                heard += more
            asked.append(heard.decode())
            try:
                whole = answers.pop(0)
                await stream.send_all(whole.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))
                while whole.startswith(HUGE):  # it never ends by itself
                    await stream.send_all(b" " * 65_536)
            except trio.BrokenResourceError:
                return

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        config = EdgeConfig(api_base_url=f"http://127.0.0.1:{port}/client/v4", retries=retries, timeout_s=timeout_s)
        async with open_edge(config, first_wait_s=0.001) as edge:
            yield edge.access("a" * 32, TOKEN), asked
        nursery.cancel_scope.cancel()


RIGHTS = tokens.WORKING_RIGHTS
ACTIVE = {"id": "tok1", "status": "active"}


async def test_cookies_are_not_carried_from_one_call_to_the_next() -> None:
    cookie = "set-cookie: __cf_bm=one-account; path=/\r\n"
    async with rude([answer(ACTIVE, headers=cookie), answer(ACTIVE)]) as (access, asked):
        await tokens.verify(access)
        await tokens.verify(access)
    assert [head.lower().count("\r\ncookie:") for head in asked] == [0, 0]


async def test_a_redirect_is_not_followed() -> None:
    elsewhere = answer(None, status="302 Found", headers="location: http://127.0.0.1:1/steal\r\n")
    async with rude([elsewhere], retries=0) as (access, asked):
        with pytest.raises((EdgeUnavailable, EdgeRefused)):
            await tokens.verify(access)
    assert len(asked) == 1


async def test_an_endless_answer_is_cut_off() -> None:
    async with rude([HUGE], timeout_s=60) as (access, _):
        with pytest.raises(EdgeRefused, match="too large"):
            await d1.query(access, "db1", [("select 1", [])])


@pytest.mark.parametrize(
    "half", [b'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"success":', b"\r\n\r\n", b"junk\r\n\r\n"]
)
async def test_half_an_answer_to_a_create_leaves_it_unknown(half: bytes) -> None:
    async with rude([half]) as (access, asked):
        with pytest.raises(EdgeUnknown):
            await d1.create(access, "svc-edge")
    assert len(asked) == 1


async def test_an_answer_of_another_shape_names_the_place_and_not_the_value() -> None:
    odd = answer({"id": "tok1", "name": "svc-op_1", "value": ["cfat_secret"], "policies": []})
    async with rude([odd]) as (access, _):
        with pytest.raises(EdgeUnknown, match="at value") as caught:
            await tokens.create(access, "svc-op_1", [], 1_900_000_000_000)
    assert "cfat_secret" not in repr(caught.value) + str(caught.value.__context__)


async def test_an_id_that_would_change_the_path_is_not_believed() -> None:
    odd = answer([{"uuid": "../../tokens", "name": "svc-edge", "created_at": "2026-11-21T04:00:00Z"}])
    async with rude([odd], retries=0) as (access, _):
        with pytest.raises(EdgeUnavailable, match=r"at 0\.uuid"):
            await d1.find(access, "svc-edge")


def page(number: int, names: str, total: int) -> bytes:
    """A page of zones, one letter each."""
    found = [{"id": name, "name": name, "status": "active"} for name in names]
    return answer(found, page=number, total_count=total, per_page=2, count=len(found))


async def test_a_list_that_shifts_between_its_pages_is_read_again() -> None:
    first_pass = [page(1, "ab", 4), page(2, "bc", 4)]  # a zone was added in front: one is seen twice, one not at all
    second_pass = [page(1, "ba", 4), page(2, "cd", 4)]
    async with rude([*first_pass, *second_pass]) as (access, _):
        listed, _ = await zones.list_zones(access)
    assert [zone.name for zone in listed] == ["a", "b", "c", "d"]


async def test_a_list_that_is_shorter_than_it_says_ends() -> None:
    once = [page(1, "ab", 9), page(2, "c", 9), page(3, "", 9)]
    async with rude([*once, *once]) as (access, asked):
        listed, _ = await zones.list_zones(access)
    assert [zone.name for zone in listed] == ["a", "b", "c"]
    assert len(asked) == 6


async def test_an_endpoint_that_ignores_the_page_asked_for_is_read_once_more_at_the_most() -> None:
    zone = [{"id": "a", "name": "a", "status": "active"}]
    async with rude([answer(zone, per_page=1), answer(zone, per_page=1)]) as (access, asked):
        listed, _ = await zones.list_zones(access)
    assert [each.name for each in listed] == ["a"]
    assert len(asked) == 2


async def test_the_rights_come_all_at_once_whatever_the_page_data_say() -> None:
    groups = [{"id": right.name.replace(" ", "_"), "name": right.name, "scopes": [right.scope]} for right in RIGHTS]
    async with rude([answer(groups, page=1, total_pages=9)]) as (access, asked):
        assert len(await tokens.permission_groups(access)) == len(groups)
    assert len(asked) == 1
    assert "per_page" not in asked[0]


async def test_other_scripts_and_databases_of_the_account_may_look_like_anything() -> None:
    nothing = {"id": None, "etag": None, "tags": None, "uuid": None, "name": None, "created_at": None}
    own = {"id": "svc-edge", "etag": None, "tags": ["svc-account:acc_1"]}
    async with rude([answer([nothing, {}, own])]) as (access, _):
        assert await workers.get_script(access, "svc-edge") == workers.Script("svc-edge", None, ("svc-account:acc_1",))
    made = {"uuid": "0" * 32, "name": "svc-edge", "created_at": "2026-01-01T00:00:00Z"}
    async with rude([answer([nothing, {}, made]), answer(made)]) as (access, _):
        found = await d1.find(access, "svc-edge")
        assert found is not None
        assert found.id == "0" * 32


def graph(data: object) -> bytes:
    """A whole HTTP answer of the analytics."""
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
    ids=["an account that is not shown", "no interval", "null", "no bounds", "no number", "no rows", "no day"],
)
async def test_figures_that_are_not_told_whole_are_none(data: object) -> None:
    async with rude([graph(data)], retries=0) as (access, _):
        with pytest.raises((EdgeRefused, EdgeUnavailable)):
            await analytics.request_days(access, 20_777, 20_777)
