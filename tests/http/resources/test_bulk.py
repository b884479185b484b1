"""POST /v1/links/bulk: each valid row becomes a link, each invalid row gets an error, and repeats have no effect."""

from __future__ import annotations

import json
import time

import pytest
import trio

from svc.api.bulk import row_of
from svc.config import Config, HttpConfig, LimitsConfig, MailConfig
from svc.store import accounts
from svc.store.link_lists import LinkFilter, list_links
from tests.http.conftest import EDGE_ACCOUNT, Response, open_world
from tests.http.serving.test_refusals import is_error

PATH = "/v1/links/bulk"


@pytest.fixture
async def large_world(store, clock, tmp_path):
    """A world that accepts bodies of 1 MiB and 2,500 links, but stores only a few large responses."""
    config = Config(
        http=HttpConfig(base_url="https://svc.example"),
        mail=MailConfig(folder=tmp_path / "mail"),
        limits=LimitsConfig(links=2_500, kept_answers_bytes=200_000),
    )
    async with open_world(store, clock, tmp_path, config) as opened:
        yield opened


async def codes_of(world, user) -> list[str]:
    found = await world.store.read(list_links(LinkFilter(user.id), limit=5_000))
    return sorted(link.code for link in found)


@pytest.mark.rule("X2")
async def test_valid_rows_become_links_and_each_other_row_gets_an_error(large_world):
    user, session, account = await large_world.ready()
    await large_world.call(
        "POST", "/v1/links", {"account_id": account.id, "url": "https://a.example", "code": "old"}, headers=session
    )
    before = await large_world.store.read(accounts.account_by_id(account.id))
    large_world.supervisor.woken.clear()
    rules = [{"url": "https://a.example/de", "countries": ["DE"]}]
    rows = [
        {"url": "https://a.example/1", "code": "one", "rules": rules},
        {"url": "http://a.example/"},
        {"url": "https://a.example/2"},
        {"url": "https://a.example/3", "code": "old"},
        {"url": "https://a.example/4", "code": "one"},
        {"url": "https://go.example.com/x"},
        {"url": "https://a.example/", "rules": [{"url": "https://go.example.com/"}], "code": "xyz"},
        {"code": "no-url", "color": 1},
        "https://a.example/",
        None,
        [],
        {"url": "https://a.example/5", "code": None},
    ]
    response = await large_world.call("POST", PATH, {"account_id": account.id, "links": rows}, headers=session)
    assert response.status == 200
    results = response.body["results"]
    assert [next(iter(result)) for result in results] == [
        "link", "error", "link", "error", "error", "error", "error", "error", "error", "error", "error", "link",
    ]  # fmt: skip
    assert results[0]["link"]["rules"] == rules
    assert results[0]["link"]["short_url"] == "https://go.example.com/one"
    assert [results[place]["link"]["url"][-1] for place in (0, 2, 11)] == ["1", "2", "5"]
    assert [results[place]["error"]["code"] for place in (3, 4)] == ["link_exists"] * 2
    issues = [results[place]["error"]["details"]["issues"] for place in (1, 5, 6, 7, 8, 9, 10)]
    assert [[issue["path"] for issue in some] for some in issues] == [
        ["url"], ["url"], ["rules.0.url"], ["url", "color"], [""], [""], [""],
    ]  # fmt: skip
    assert results[2]["link"]["code"] != results[11]["link"]["code"]
    made = [results[place]["link"]["code"] for place in (0, 2, 11)]
    assert await codes_of(large_world, user) == sorted(["old", *made])
    after = await large_world.store.read(accounts.account_by_id(account.id))
    assert after.config_version == before.config_version + 1
    assert large_world.supervisor.woken == [EDGE_ACCOUNT]


@pytest.mark.rule("X2")
async def test_request_without_valid_rows_changes_nothing(large_world):
    _, session, account = await large_world.ready()
    before = await large_world.store.read(accounts.account_by_id(account.id))
    response = await large_world.call("POST", PATH, {"account_id": account.id, "links": [{}, 1]}, headers=session)
    assert (response.status, [result["error"]["code"] for result in response.body["results"]]) == (
        200,
        ["invalid_request"] * 2,
    )
    assert await large_world.store.read(accounts.account_by_id(account.id)) == before


@pytest.mark.rule("X2")
async def test_a_thousand_links_with_random_codes_are_created_once(large_world):
    user, session, account = await large_world.ready()
    body = {"account_id": account.id, "links": [{"url": f"https://a.example/{n}"} for n in range(1_000)]}
    headers = {**session, "Idempotency-Key": "k1"}
    first = await large_world.call("POST", PATH, body, headers=headers)
    again = await large_world.call("POST", PATH, body, headers=headers)
    assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (200, first.raw, "true")
    urls = [result["link"]["url"] for result in first.body["results"]]
    assert urls == [row["url"] for row in body["links"]]
    assert len(await codes_of(large_world, user)) == 1_000


@pytest.mark.rule("X2", "G3", "G5")
async def test_total_size_of_stored_large_responses_is_limited_per_user(large_world, clock):
    user, session, account = await large_world.ready()
    _, other_session, other_account = await large_world.ready(edge_account_id="e" * 32)

    async def ask(key: str, links: int, wrong: int, who=session, where=account):
        rows = [{"url": f"https://a.example/{n}"} for n in range(links)] + [{"url": "http://a.example"}] * wrong
        headers = {**who, "Idempotency-Key": key} if key else who
        return await large_world.call("POST", PATH, {"account_id": where.id, "links": rows}, headers=headers)

    first = await ask("first", 5, 490)  # about 180 kB
    full = await ask("second", 5, 100)
    is_error(full, 429, "rate_limited")
    assert full.headers["Retry-After"] == str(24 * 3600)
    assert len(await codes_of(large_world, user)) == 5
    assert (await ask("first", 5, 490)).body == first.body
    assert (await ask("few", 1, 0)).status == 200
    assert (await ask("", 5, 100)).status == 200
    assert (await ask("second", 5, 100, other_session, other_account)).status == 200
    assert len(await codes_of(large_world, user)) == 11
    clock.advance_s(24 * 3600)
    assert (await ask("second", 5, 100)).status == 200
    assert len(await codes_of(large_world, user)) == 16


@pytest.mark.rule("X2")
async def test_concurrent_identical_requests_create_the_links_once(large_world):
    user, session, account = await large_world.ready()
    body = {
        "account_id": account.id,
        "links": [{"url": f"https://a.example/{n}", "code": f"c{n:02}"} for n in range(50)],
    }
    responses = []

    async def send(headers):
        responses.append(await large_world.call("POST", PATH, body, headers={**session, **headers}))

    async with trio.open_nursery() as nursery:
        for headers in ({"Idempotency-Key": "k1"}, {"Idempotency-Key": "k1"}, {}, {}):
            nursery.start_soon(send, headers)
    assert [response.status for response in responses] == [200] * 4
    made = [sum("link" in result for result in response.body["results"]) for response in responses]
    # The two requests with the same key get the same response. Of the three requests that are executed, one creates all
    # links, and the others create none.
    assert sorted(made) in ([0, 0, 0, 50], [0, 0, 50, 50])
    assert len(await codes_of(large_world, user)) == 50


@pytest.mark.rule("X2")
async def test_errors_that_concern_all_rows_refuse_the_request(world):
    user, session, account = await world.ready()  # the limit of this user is four links
    right = {"url": "https://a.example/"}
    rows = [right] * 5
    is_error(
        await world.call("POST", PATH, {"account_id": account.id, "links": rows}, headers=session), 403, "limit_reached"
    )
    assert await codes_of(world, user) == []
    # Rows with errors do not count toward the limit.
    response = await world.call("POST", PATH, {"account_id": account.id, "links": [*rows[:4], {}]}, headers=session)
    assert response.status == 200
    assert len(await codes_of(world, user)) == 4
    bare = await world.account(user, "f" * 32)
    body = {"account_id": bare.id, "links": [right]}
    is_error(await world.call("POST", PATH, body, headers=session), 409, "link_host_required")
    stranger = await world.session(await world.user())
    is_error(await world.call("POST", PATH, body, headers=stranger), 404, "not_found")
    key = await world.key(user, "links", allow_accounts=(EDGE_ACCOUNT,))
    is_error(await world.call("POST", PATH, body, headers=key), 404, "not_found")
    for wrong in ({"account_id": account.id}, {"account_id": account.id, "links": []}, {"links": [right]}):
        is_error(await world.call("POST", PATH, wrong, headers=session), 400, "invalid_request")


@pytest.mark.rule("X2")
async def test_more_than_a_thousand_rows_are_refused(large_world):
    _, session, account = await large_world.ready()
    body = {"account_id": account.id, "links": [{"url": "https://a.example/"}] * 1_001}
    is_error(await large_world.call("POST", PATH, body, headers=session), 400, "invalid_request")


@pytest.mark.rule("X2")
async def test_total_number_of_values_is_limited(large_world):
    _, session, account = await large_world.ready()
    rules = [{"url": "https://b.example/", "countries": ["DE"] * 80}]
    body = {"account_id": account.id, "links": [{"url": "https://a.example/", "rules": rules}] * 750}
    assert (await large_world.call("POST", PATH, body, headers=session)).status == 200
    body["links"] *= 2
    del body["links"][1_000:]
    is_error(await large_world.call("POST", PATH, body, headers=session), 400, "invalid_request")


@pytest.mark.rule("X2")
async def test_body_of_one_mebibyte_is_the_maximum(large_world):
    _, session, account = await large_world.ready()
    url = "https://a.example/?" + "a,[" * 320
    body = json.dumps({"account_id": account.id, "links": [{"url": url, "code": f"code-{n}"} for n in range(1_000)]})
    headers = {**session, "Content-Type": "application/json"}
    assert 1_000_000 < len(body) < 1_048_576
    response = await large_world.call("POST", PATH, data=body.ljust(1_048_576), headers=headers)
    assert (response.status, len(response.body["results"])) == (200, 1_000)
    response = await large_world.call("POST", PATH, data=body.ljust(1_048_577), headers=headers)
    is_error(response, 413, "payload_too_large")


MEBIBYTE = 1_048_576
HOSTILE = {
    "lists": b"[" + b"[]," * (MEBIBYTE // 3 - 1) + b"1]",
    "objects": b"[" + b"{}," * (MEBIBYTE // 3 - 1) + b"1]",
    "numbers": b"[" + b"1," * (MEBIBYTE // 2 - 2) + b"1]",
    "texts": b'{"account_id":"a","links":[' + b'"",' * (MEBIBYTE // 3 - 11) + b"1]}",
    "hidden": b'["\\"",' + b"1," * (MEBIBYTE // 2 - 10) + b"1]",
    "deep": b"[" * MEBIBYTE,
    "names": b"{" + b",".join(b'"%d":1' % n for n in range(MEBIBYTE // 10)) + b"}",
    "rows of names": b'{"account_id":"a","links":[' + b",".join([b'{"a":1,"b":[[]],"c":{}}'] * 15_000) + b"]}",
    "lists of a row": b'{"account_id":"a","links":[{"url":' + b"[" * 50_000 + b"]" * 50_000 + b"}]}",
}


@pytest.mark.rule("X2", "G8")
async def test_invalid_body_costs_no_more_than_a_valid_one(large_world):
    _, session, account = await large_world.ready()
    headers = {**session, "Content-Type": "application/json"}

    async def ask(data: bytes) -> tuple[Response, float]:
        before = time.process_time()
        response = await large_world.call("POST", PATH, data=data, headers=headers)
        return response, time.process_time() - before

    links = [{"url": "https://a.example/" + "a" * 900}] * 1_000
    _, right_s = await ask(json.dumps({"account_id": account.id, "links": links}).encode())
    for name, raw in HOSTILE.items():
        costs = []
        for _ in range(5):
            response, wrong_s = await ask(raw)
            is_error(response, 400, "invalid_request")
            costs.append(wrong_s)
        # Compare the smallest measured cost, because garbage collections and other processes only add time.
        assert min(costs) < right_s / 1.5, name


@pytest.mark.rule("X2")
async def test_expensive_rows_delay_other_requests_by_about_one_row(large_world):
    """The limit on the delay must also hold if several of these requests run concurrently."""
    _, session, account = await large_world.ready()
    # the IDNA rules scan the whole label for each digit, which takes much CPU time
    digits = ".".join(["\u0628" + "\u0660" * 40] * 5)
    rows = [
        {"url": f"https://{digits}/{n}", "rules": [{"url": f"https://{digits}/{rule}"} for rule in range(10)]}
        for n in range(10)
    ]
    costs, gaps = [], []
    for row in rows[:3]:
        before = time.thread_time()
        row_of(row)
        costs.append(time.thread_time() - before)

    async def beside() -> None:
        while True:
            last = time.thread_time()
            await trio.lowlevel.checkpoint()
            gaps.append(time.thread_time() - last)

    async def ask(key: str) -> None:
        body = {"account_id": account.id, "links": rows}
        response = await large_world.call("POST", PATH, body, headers={**session, "Idempotency-Key": key})
        assert response.status == 200
        assert all("link" in result for result in response.body["results"])

    # Send a first request, whose one-time costs must not be measured.
    body = {"account_id": account.id, "links": [{"url": "https://example.org"}]}
    assert (await large_world.call("POST", PATH, body, headers={**session, "Idempotency-Key": "first"})).status == 200
    async with trio.open_nursery() as nursery:
        nursery.start_soon(beside)
        async with trio.open_nursery() as asking:
            for number in range(3):
                asking.start_soon(ask, f"key-{number}")
        nursery.cancel_scope.cancel()
    # the factor was above ten when the service processed ten rows before it let other tasks run
    assert max(gaps) < 6 * min(costs)
