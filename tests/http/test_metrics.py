"""Metrics of requests: each request is counted once, whatever its outcome, and the number of labels is limited."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.http.serving.server import serve
from svc.metrics import CONNECTIONS
from svc.store.tx import sql
from tests.http.resources.test_push import Place, place  # noqa: F401  # a fixture
from tests.http.serving.test_sockets import head, response_of
from tests.scraped import Scraped, scrape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http.conftest import World


def requests_of(found: Scraped) -> dict[tuple[str, ...], float]:
    return found.counts("svc_http_request_seconds_count", "method", "route", "status")


def errors_of(found: Scraped) -> dict[tuple[str, ...], float]:
    return found.counts("svc_http_errors_total", "route", "code")


@pytest.mark.rule("X14")
async def test_requests_are_counted_by_route_template(world: World):
    user, session, account = await world.ready()
    for _ in range(3):
        await world.call("GET", f"/v1/accounts/{account.id}", headers=session)
    await world.call("HEAD", f"/v1/accounts/{account.id}", headers=session)
    body = {"account_id": account.id, "url": "https://a.example/secret"}
    link = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]
    await world.call("GET", f"/v1/links/{link['id']}", headers=session)
    await world.call("GET", "/v1/links/lnk_nonsense", headers=session)
    await world.call("GET", "/v1/links", headers={"Authorization": "Bearer svs_nonsense"})
    found = scrape(world.metrics)
    assert requests_of(found) == {
        ("GET", "/v1/accounts/{account_id}", "2xx"): 3,
        ("HEAD", "/v1/accounts/{account_id}", "2xx"): 1,
        ("POST", "/v1/links", "2xx"): 1,
        ("GET", "/v1/links/{link_id}", "2xx"): 1,
        ("GET", "/v1/links/{link_id}", "4xx"): 1,
        ("GET", "/v1/links", "4xx"): 1,
    }
    assert errors_of(found) == {("/v1/links/{link_id}", "not_found"): 1, ("/v1/links", "unauthorized"): 1}
    assert found.total("svc_http_in_flight") == 0
    for secret in (account.id, account.edge_account_id, link["id"], link["code"], "secret", user.email, "nonsense"):
        assert secret not in found.text


@pytest.mark.rule("X14")
async def test_body_bytes_are_counted_by_route(world: World):
    _, session, account = await world.ready()
    body = json.dumps({"account_id": account.id, "url": "https://a.example/"})
    made = await world.call("POST", "/v1/links", data=body, headers={**session, "Content-Type": "application/json"})
    assert made.status == 201
    listed = await world.call("GET", "/v1/links", headers=session)
    exported = await world.call("GET", "/v1/export", headers=session)  # streamed
    refused = await world.call("POST", "/edge/push", data="{}", headers={"Content-Type": "application/json"})
    assert scrape(world.metrics).counts("svc_http_body_bytes_total", "route", "direction") == {
        ("/v1/links", "received"): len(body),
        ("/v1/links", "sent"): len(made.raw) + len(listed.raw),
        ("/v1/export", "sent"): len(exported.raw),
        ("/edge/push", "sent"): len(refused.raw),
    }


@pytest.mark.rule("X14")
async def test_unknown_paths_and_methods_share_one_label(world: World):
    odd = [("GET", f"/v1/nothing/{number}") for number in range(20)]
    odd += [("GET", "/v1/me%00"), ("GET", "/v1/links/%2e%2e/me"), ("GET", "/v1/me/" + "x" * 500)]
    odd += [("BREW", "/v1/me"), ("PROPFIND", "/"), ("TRACE", "/v1/links")]
    for method, path in odd:
        assert await send(world, method, path) in (404, 405), (method, path)
    await send(world, "PUT", "/v1/me")
    found = requests_of(scrape(world.metrics))
    assert set(found) <= {(method, "other", "4xx") for method in ("GET", "other", "PUT")}
    assert sum(found.values()) == len(odd) + 1


async def send(world: World, method: str, path: str) -> int:
    """Send a request without checking it against the contract, and return the status."""
    client: Any = world.app.test_client()
    status: int = (await client.open(path, method=method)).status_code
    return status


@pytest.mark.rule("X14")
async def test_repeated_error_without_effect_is_counted_under_its_own_code(world: World):
    _, _, account = await world.ready()
    key = await world.key(await world.user())
    body = {"account_id": account.id, "url": "https://a.example"}  # this account belongs to another user
    for _ in range(3):
        assert (await world.call("POST", "/v1/links", body, headers=key)).code == "not_found"
    assert errors_of(scrape(world.metrics)) == {("/v1/links", "not_found"): 3}


@pytest.mark.rule("X14")
async def test_exception_is_counted_as_internal_error(world: World, expected_errors):
    expected_errors.allow("request failed")
    _, session, account = await world.ready()
    await world.store.run(_damaged(account.id))
    assert (await world.call("GET", f"/v1/accounts/{account.id}", headers=session)).status == 500
    found = scrape(world.metrics)
    assert requests_of(found) == {("GET", "/v1/accounts/{account_id}", "5xx"): 1}
    assert errors_of(found) == {("/v1/accounts/{account_id}", "internal"): 1}


def _damaged(account_id: str):
    yield sql("update accounts set warnings = 'no JSON' where id = $1", account_id)


@pytest.mark.rule("X14")
async def test_disconnects_and_malformed_requests_are_counted_separately(world: World):
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port, done = listeners[0].socket.getsockname()[1], trio.Event()
    body_begins = head("POST", "/auth/sign-in", Content_Length=100, Content_Type="application/json") + b"{"

    async def scraped(wanted: Callable[[Scraped], bool]) -> Scraped:
        with trio.fail_after(20):
            while not wanted(found := scrape(world.metrics)):
                await trio.lowlevel.checkpoint()
        return found

    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            partial(serve, world.app, listeners, connections=3, graceful_s=1, until=done.wait, metrics=world.metrics)
        )
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(body_begins)
        await scraped(lambda found: found.total("svc_http_in_flight") == 1)
        await stream.aclose()
        found = await scraped(lambda found: found.total("svc_http_request_seconds_count", status="gone") == 1)
        assert found.total("svc_http_in_flight") == 0

        for text, status in ((b"nonsense\r\n\r\n", 400), (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505)):
            async with await trio.open_tcp_stream("127.0.0.1", port) as rude:
                await rude.send_all(text)
                assert (await response_of(rude))[0] == status
        found = await scraped(lambda found: found.total("svc_http_connections") == 0)
        assert found.counts("svc_http_malformed_total", "status") == {("400",): 1, ("505",): 1}
        assert found.total(f"{CONNECTIONS.name}_limit") == 3

        idle = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(5)]
        found = await scraped(lambda found: found.total("svc_http_connections_ended_total") >= 2)
        assert found.total("svc_http_connections") <= 3
        for stream in idle:
            await stream.aclose()
        done.set()
    assert requests_of(scrape(world.metrics)) == {("POST", "/auth/sign-in", "gone"): 1}


@pytest.mark.rule("X14")
async def test_pushes_are_counted_by_the_outcome_of_their_parts(place: Place):  # noqa: F811
    world = place.world
    good = place.part(1, 1, hours=[(3, [[place.site, 5, 1, 2]])], upto=4)
    too_old = place.part(2, 60, days=[[place.site, 1, 0, 1]])
    early = place.part(3, -1, hours=[(1, [[place.site, 1, 0, 1]])])
    wrong = {**place.part(4, 1), "day": "yesterday"}
    for parts in ([good], [good, too_old, early, wrong], [too_old], []):
        assert (await place.push(*parts)).status == 200
    assert (await place.push(parts=3)).status == 400
    found = scrape(world.metrics)
    assert found.counts("svc_push_total", "outcome") == {("accepted",): 2, ("partial",): 1, ("refused",): 1}
    assert found.counts("svc_push_parts_total", "outcome") == {
        ("accepted",): 2,
        ("too_old",): 2,
        ("early",): 1,
        ("invalid",): 1,
    }
    lag_s = (world.clock() - good["as_of"]) / 1000
    assert found.total("svc_push_lag_seconds_count") == 2
    assert found.total("svc_push_lag_seconds_sum") == pytest.approx(2 * lag_s)
    assert (found.total("svc_push_group_size_count"), found.total("svc_push_group_size_sum")) == (4, 4)
    assert found.total("svc_push_waiting") == 0
    pushes = {labels: number for labels, number in requests_of(found).items() if labels[1] == "/edge/push"}
    assert pushes == {("POST", "/edge/push", "2xx"): 4, ("POST", "/edge/push", "4xx"): 1}
    assert errors_of(found) == {("/edge/push", "invalid_request"): 1}
