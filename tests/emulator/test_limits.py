"""Tests of the free plan's limits, which the platform enforces, but the runtime alone does not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from tests.emulator.clients import PROBE

if TYPE_CHECKING:
    from edge_worker.emulator.client import Emulator
    from tests.emulator.clients import Api

WRITE_TEXT = "Your account has exceeded D1's free tier daily row write limit."
READ_TEXT = "Your account has exceeded D1's free tier daily row read limit."
DAY_S = 86_400


async def refused_query(api: Api, database: str, sql: str, *params: object) -> str:
    path = f"{api.account}/d1/database/{database}/query"
    response = await api.call("POST", path, json={"sql": sql, "params": list(params)})
    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == 7500
    return str(response.json()["errors"][0]["message"])


async def test_rows_written_are_limited_by_day_on_binding_and_api(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    await emulator.set_usage(api.customer.account_id, rows_written=99_999)
    assert (await emulator.visit("shop.example", "/insert")).body == "ok"
    assert (await emulator.visit("shop.example", "/insert")).body.startswith(f"D1_ERROR: {WRITE_TEXT}")
    assert (await refused_query(api, database, "insert into hit values ('x')")).startswith(WRITE_TEXT)
    assert await api.query(database, "select count(*) as n from hit") == [
        {"n": 1}
    ]  # reads still work, but the statement above wrote nothing
    await emulator.clock(DAY_S)
    assert (await emulator.visit("shop.example", "/insert")).body == "ok"


async def test_limit_applies_to_the_account_not_the_database(emulator: Emulator, api: Api) -> None:
    first, second = await api.database("first"), await api.database("second")
    await emulator.set_limits(api.customer.account_id, rows_written=12)
    for number in range(4):
        await api.query(first, "insert into hit values (?)", number)
    state = await emulator.state()
    used = state["accounts"][api.customer.account_id]["usage"][str(state["today"])]["rows_written"]
    for number in range(12 - used):
        await api.query(first, "insert into hit values (?)", number)
    assert (await refused_query(api, second, "insert into hit values (1)")).startswith(WRITE_TEXT)


async def test_rows_read_are_limited_by_day(emulator: Emulator, api: Api) -> None:
    database = await api.database()
    await api.query(database, "insert into hit values ('x')")
    await emulator.set_usage(api.customer.account_id, rows_read=5_000_000)
    assert (await refused_query(api, database, "select * from hit")).startswith(READ_TEXT)
    assert await api.query(database, "select 1 as one") == [{"one": 1}]  # this query reads no rows


async def test_rejected_batch_changes_nothing(emulator: Emulator, api: Api) -> None:
    database = await api.database()
    path = f"{api.account}/d1/database/{database}/query"
    batch = [{"sql": "insert into hit values ('x')"}, {"sql": "insert into missing values (1)"}]
    assert await api.refusal("POST", path, json={"batch": batch}) == (400, 7500)
    assert await api.query(database, "select * from hit") == []


@pytest.mark.parametrize(("path", "text"), [("/queries", "50 D1_ERROR"), ("/batch", "D1_ERROR")])
async def test_invocation_is_limited_to_50_queries(emulator: Emulator, api: Api, path: str, text: str) -> None:
    await api.probe()
    response = (await emulator.visit("shop.example", path)).body
    assert response == f"{text}: Too many API requests by single worker invocation."
    # each invocation has a separate count of statements
    assert (await emulator.visit("shop.example", "/insert")).body == "ok"
    script = (await emulator.state())["accounts"][api.customer.account_id]["scripts"]["probe"]
    assert script["max_d1_queries"] == 51


async def test_size_of_requests_is_limited(emulator: Emulator, api: Api) -> None:
    await api.probe()
    port = int(emulator.edge.rsplit(":", 1)[1])

    async def status(method: str, path: str, *headers: str) -> str:
        head = "".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", "host: shop.example", *headers))
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(f"{head}\r\n".encode())
            with trio.fail_after(30):
                return (await stream.receive_some()).decode().split()[1]

    long = "x" * 9_000
    assert await status("GET", f"/{long}", f"x-long: {long}") == "200"
    assert await status("GET", f"/{long}{long}") == "414"
    assert await status("POST", "/", "content-length: 100000001") == "413"
    assert await status("GET", "/", *[f"x-{n}: {long}" for n in range(16)]) == "431"
    assert await status("GET", "/", *[f"x-{n}: {long}" for n in range(12)]) == "200"


async def test_size_of_values_and_statements_is_limited(api: Api) -> None:
    database = await api.database()
    big = "x" * 2_000_001
    assert "TOOBIG" in await refused_query(api, database, "insert into hit values (?)", big)
    await api.query(database, "insert into hit values (?)", big[:1_500_000])
    grown = "update hit set what = what || ?"
    assert "TOOBIG" in await refused_query(api, database, grown, big[:600_000])
    assert await api.query(database, "select length(what) as n from hit") == [{"n": 1_500_000}]
    many = "select " + ", ".join("?" for _ in range(101))
    assert "too many SQL variables" in await refused_query(api, database, many, *range(101))
    assert "statement too long" in await refused_query(api, database, f"select '{'x' * 100_000}'")


async def test_full_database_rejects_inserts(emulator: Emulator, api: Api) -> None:
    database = await api.database()
    await emulator.set_limits(api.customer.account_id, db_bytes=20_000)
    refused = await refused_query(api, database, "insert into hit values (?)", "x" * 30_000)
    assert refused == "Exceeded maximum DB size"


async def test_requests_above_the_daily_limit_fail_closed_or_open(emulator: Emulator, api: Api) -> None:
    await api.upload("probe", PROBE)
    await api.route("shop.example", "shop.example/closed*", "probe")
    await api.route("shop.example", "shop.example/open*", "probe", request_limit_fail_open=True)
    await emulator.set_usage(api.customer.account_id, requests=99_999)
    assert (await emulator.visit("shop.example", "/closed")).body == "probe  /closed"
    closed, opened = [await emulator.visit("shop.example", path) for path in ("/closed", "/open")]
    assert closed.status == 429
    assert "1027" in closed.body
    assert "origin of shop.example" in opened.body
    await emulator.clock(DAY_S)
    assert (await emulator.visit("shop.example", "/closed")).body == "probe  /closed"


async def test_request_limit_survives_an_upload(emulator: Emulator, api: Api) -> None:
    await emulator.set_limits(api.customer.account_id, requests=3)
    await api.upload("probe", PROBE)
    await api.route("shop.example", "shop.example/*", "probe")
    assert [(await emulator.visit("shop.example", "/")).status for _ in range(2)] == [200, 200]
    await api.upload("probe", PROBE)
    assert [(await emulator.visit("shop.example", "/")).status for _ in range(2)] == [200, 429]


async def test_crons_are_limited_by_account(api: Api, emulator: Emulator) -> None:
    for name in ("one", "two"):
        await api.upload(name)
    crons = [{"cron": f"{minute} * * * *"} for minute in range(6)]
    one, two = (f"{api.account}/workers/scripts/{name}/schedules" for name in ("one", "two"))
    await api.result("PUT", one, json=crons[:3])
    assert await api.refusal("PUT", two, json=crons[:3]) == (400, 10072)
    await api.result("PUT", two, json=crons[:2])
    # the crons of the same script are replaced, so they do not count twice
    await api.result("PUT", one, json=crons[:3])
    await api.result("PUT", one, json=[])
    assert len((await api.result("PUT", two, json=crons[:5]))["schedules"]) == 5
    await emulator.set_limits(api.customer.account_id, crons=4)
    for fewer in (crons[:5], crons[:1], []):  # an account over its limit cannot even remove cron triggers
        assert await api.refusal("PUT", two, json=fewer) == (400, 10072)


async def test_token_above_the_rate_limit_is_blocked_for_the_window(emulator: Emulator, api: Api) -> None:
    other = await emulator.create_account()
    another = type(api)(api.client, other, other.bootstrap_token)
    await emulator.set_failure_settings(rate_limit=3, rate_window_s=3600)
    for _ in range(3):
        await api.result("GET", api.account)
    blocked = await api.call("GET", api.account)
    assert (blocked.status_code, blocked.headers["Retry-After"]) == (429, "3600")
    # The number of calls until the token is blocked is not known, because a window can end between any two calls.
    await emulator.set_failure_settings(rate_window_s=0.5)

    async def responses(status: int) -> bool | None:
        return (await another.call("GET", another.account)).status_code == status or None

    await eventually(partial(responses, 429))
    await eventually(partial(responses, 200))
    assert (await api.call("GET", api.account)).status_code == 429


async def test_databases_are_limited_and_have_unique_names(api: Api) -> None:
    for number in range(10):
        await api.database(f"db-{number}")
    path = f"{api.account}/d1/database"
    assert await api.refusal("POST", path, json={"name": "db-3"}) == (400, 7502)
    assert await api.refusal("POST", path, json={"name": "one-more"}) == (400, 7406)


async def test_paid_account_has_no_daily_limits(emulator: Emulator, api: Api) -> None:
    rich = await emulator.create_account([proxied_zone("rich.example")], plan="paid")
    await emulator.set_usage(rich.account_id, rows_written=10_000_000, rows_read=10**9)
    _, value = await emulator.create_token(rich.account_id, rights=["D1 Write"])
    rich_api = type(api)(api.client, rich, value)
    database = await rich_api.database()
    await rich_api.query(database, "insert into hit values ('x')")
