"""Tests of …/totals: JSON and CSV streams match the reports, and are either complete or visibly aborted."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import tracemalloc
from contextlib import aclosing, asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, iso
from svc.http.resources.totals import _csv, _json, _Series
from svc.model import Counts
from svc.store import open_store
from svc.store.total_pages import PAGE, days_page, hours_page
from svc.store.totals import ingest
from svc.store.tx import many, sql
from svc.worker.pushed import PushedHour, PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.databases import postgres_config, sqlite_config
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT, open_world
from tests.http.serving.test_refusals import is_error
from tests.http.serving.test_sockets import head, response_of, served
from tests.store.makers import a_link, a_site, an_account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.store.tx import Statement, Tx
    from tests.http.conftest import World

pytestmark = pytest.mark.both_engines

TODAY = day_of(START_MS)
MIDNIGHT = TODAY * DAY_MS
CSV = {"Accept": "text/csv"}
SMALL_BYTES = 16_384


def pushed(account_id: str, day: int, target: str, hourly: dict[int, Counts], *, final: bool = True) -> Any:
    """Return a transaction that ingests a day as the Worker pushes it: the hours and their sum."""
    as_of = day * DAY_MS + (24 if final else max(hourly, default=0) + 1) * HOUR_MS
    rows = {at: (target, counts.views, counts.bots, counts.visitors) for at, counts in hourly.items()}
    total = sum(hourly.values(), Counts())
    part = PushedPart(
        id=1,
        day=day,
        as_of=as_of,
        final=final,
        hours=tuple(PushedHour(day * DAY_MS + at * HOUR_MS, (row,)) for at, row in rows.items()),
        refused_hours=(),
        days=((target, total.views, total.bots, total.visitors),),
    )
    return ingest(account_id, [part], START_MS)


def one(statement: Statement) -> Tx[None]:
    """Return a transaction with one statement."""
    yield statement


def stored_days(target: str, days: range, imported: int = 0) -> Any:
    """Return a transaction that inserts rows for a target's days, each with different counts."""
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final, imported)"
        " values ($1, $2, $3, $4, $5, 0, 1, $6)",
        [(target, day, day % 977, day % 13, day % 89, imported) for day in days],
    )


async def counted(world: World) -> tuple[dict[str, str], str, str]:
    """Return a session's headers, and the paths of a site and a link with some counted days."""
    user = await world.user()
    account = await world.account(user, link_host="go.example.com")
    headers = await world.session(user)
    site = await world.store.run(a_site(account.id))
    link = await world.store.run(a_link(account.id))
    for target in (site, link):
        for back in (1, 2, 5, 29):
            hourly = {3: Counts(back, 1, 1), 17: Counts(10 * back, 0, back)}
            await world.store.run(pushed(account.id, TODAY - back, target, hourly))
        await world.store.run(pushed(account.id, TODAY, target, {0: Counts(4, 2, 3), 2: Counts(1, 0, 1)}, final=False))
    return headers, f"/v1/sites/{site}", f"/v1/links/{link}"


@pytest.fixture
async def counted_site(world: World) -> tuple[dict[str, str], str]:
    """The headers of a session, and the path of a site with some counted days."""
    headers, site, _ = await counted(world)
    return headers, site


async def table(world: World, path: str, headers: dict[str, str]) -> list[list[str]]:
    response = await world.call("GET", path, headers=headers | CSV)
    assert response.status == 200
    text = response.raw.decode()
    assert text.endswith("\r\n")
    assert text.count("\n") == text.count("\r\n")
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.rule("X3", "R1")
async def test_totals_match_the_reports(world):
    headers, site, link = await counted(world)
    today = (await world.call("GET", f"{site}/report", headers=headers)).body["report"]["series"]
    hours = (await world.call("GET", f"{site}/totals?by=hour&from={day_text(TODAY)}", headers=headers)).body["totals"]
    assert hours == [point for point in today if point["views"] or point["bots"]]
    assert len(hours) == 2
    for target in (site, link):
        month = (await world.call("GET", f"{target}/report?period=30d", headers=headers)).body["report"]["series"]
        span = f"from={day_text(TODAY - 29)}&to={day_text(TODAY)}"
        days = (await world.call("GET", f"{target}/totals?{span}", headers=headers)).body["totals"]
        # the report of a link reads today's clicks from the Worker's database, so the stored ones are not in it
        today_of_a_link = [] if target == site else days[-1:]
        assert days == [point for point in month if point["views"] or point["bots"]] + today_of_a_link
        assert len(days) == 5


@pytest.mark.rule("X3")
@pytest.mark.parametrize("by", ["day", "hour"])
async def test_csv_has_the_same_numbers_and_a_file_name(world, by):
    headers, site, link = await counted(world)
    for path, name in ((site, "shop.example.com"), (link, "sale26")):
        response = await world.call("GET", f"{path}/totals?by={by}", headers=headers | CSV)
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        assert response.headers["Content-Disposition"] == f'attachment; filename="{name}-by-{by}.csv"'
        points = (await world.call("GET", f"{path}/totals?by={by}", headers=headers)).body["totals"]
        first, *rows = await table(world, f"{path}/totals?by={by}", headers)
        more = ["imported", "estimated"] if by == "day" else []
        assert first == ["day" if by == "day" else "at", "views", "bots", "visitors", *more]
        assert [[*row[1:4]] for row in rows] == [
            [str(point[name]) for name in ("views", "bots", "visitors")] for point in points
        ]
        assert [row[0] for row in rows] == [point["at"][: 10 if by == "day" else None] for point in points]
        assert len(rows) > 4


def mark_as_estimate(target: str, day: int) -> Tx[None]:
    yield sql("update days set estimated = 1 where target = $1 and day = $2", target, day)


@pytest.mark.rule("X3")
async def test_imported_days_are_marked(world):
    headers, site, _ = await counted(world)
    site_id = site.rpartition("/")[2]
    await world.store.run(stored_days(site_id, range(TODAY - 100, TODAY - 98), imported=1))
    await world.store.run(mark_as_estimate(site_id, TODAY - 99))
    response = await world.call("GET", f"{site}/totals", headers=headers)
    assert [point.get("imported") for point in response.body["totals"]] == [True, True] + [None] * 5
    assert [row[4] for row in await table(world, f"{site}/totals", headers)] == ["imported", "1", "1", *"00000"]
    assert [point.get("estimated") for point in response.body["totals"]] == [None, True] + [None] * 5
    assert [row[5] for row in await table(world, f"{site}/totals", headers)] == ["estimated", "0", "1", *"00000"]


@pytest.mark.rule("X3")
@cases(
    ("accept", "kind"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/csv", "text/csv"),
        ("text/csv;charset=utf-8", "text/csv"),
        ("text/*", "text/csv"),
        ("application/json;q=0.5, text/csv", "text/csv"),
        ("text/csv;q=0.5, application/json;q=0.4", "text/csv"),
        ("text/csv;q=0.4, */*;q=0.5", "application/json"),
        ("text/csv, application/json", "application/json"),
        ("text/csv;q=0", "application/json"),
        ("image/png", "application/json"),
        ("no type", "application/json"),
        ("text/csv;q=much", "application/json"),
    ],
)
async def test_format_is_negotiated_by_accept_header(world, counted_site, accept, kind):
    headers, site = counted_site
    for method in ("GET", "HEAD"):
        more = {} if accept is None else {"Accept": accept}
        response = await world.call(method, f"{site}/totals", headers=headers | more)
        assert (response.status, response.headers["Content-Type"].partition(";")[0]) == (200, kind)
        assert response.headers["Vary"] == "Accept"
        assert response.headers["Cache-Control"] == "no-store"
        assert (response.raw == b"") == (method == "HEAD")


@pytest.mark.rule("X3")
async def test_range_includes_both_days(world):
    headers, site, _ = await counted(world)

    async def days(query: str) -> list[int]:
        points = (await world.call("GET", f"{site}/totals?{query}", headers=headers)).body["totals"]
        return [TODAY - back for back in range(40) if iso((TODAY - back) * DAY_MS) in [each["at"] for each in points]]

    assert await days("") == [TODAY, TODAY - 1, TODAY - 2, TODAY - 5, TODAY - 29]
    assert await days(f"from={day_text(TODAY - 5)}&to={day_text(TODAY - 1)}") == [TODAY - 1, TODAY - 2, TODAY - 5]
    assert await days(f"to={day_text(TODAY - 2)}") == [TODAY - 2, TODAY - 5, TODAY - 29]
    assert await days(f"from={day_text(TODAY - 4)}&to={day_text(TODAY - 3)}") == []
    assert await days("from=0001-01-01&to=9999-12-31") == await days("")
    hours = f"{site}/totals?by=hour&from={day_text(TODAY - 1)}&to={day_text(TODAY - 1)}"
    points = (await world.call("GET", hours, headers=headers)).body["totals"]
    assert [point["at"] for point in points] == [iso(MIDNIGHT - 21 * HOUR_MS), iso(MIDNIGHT - 7 * HOUR_MS)]


@pytest.mark.rule("X3", "G8")
@cases(
    ("query", "path"),
    [
        ("from=2026-02-30", "from"),
        ("from=20261121", "from"),
        ("to=2026-W47-6", "to"),
        ("to=yesterday", "to"),
        ("from=", "from"),
        ("from=0000-01-01", "from"),
        ("from=2026-11-02&to=2026-11-01", "to"),
        ("by=week", "by"),
        ("from_=2026-11-01", "from_"),
        (f"by=hour&from={day_text(TODAY - 40)}", "from"),
        (f"by=hour&to={day_text(TODAY - 40)}", "to"),
    ],
)
async def test_invalid_range_is_refused(world, counted_site, query, path):
    headers, site = counted_site
    response = await world.call("GET", f"{site}/totals?{query}", headers=headers)
    is_error(response, 400, "invalid_request")
    assert [issue["path"] for issue in response.body["error"]["details"]["issues"]] == [path]


async def test_hours_that_are_no_longer_stored_have_their_own_issue_code(world, counted_site):
    headers, site = counted_site
    response = await world.call("GET", f"{site}/totals?by=hour&from={day_text(TODAY - 40)}", headers=headers)
    assert [issue["code"] for issue in response.body["error"]["details"]["issues"]] == ["hours_not_stored"]


@pytest.mark.rule("X3")
async def test_hours_begin_with_the_first_complete_day(world):
    headers, site, _ = await counted(world)
    rows = [(site.rpartition("/")[2], (TODAY - back) * DAY_MS + 23 * HOUR_MS) for back in (39, 40)]
    text = "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, 1, 0, 1, 0, 1)"
    await world.store.run(one(many(text, rows)))
    first = (await world.call("GET", f"{site}/totals?by=hour", headers=headers)).body["totals"][0]
    assert first["at"] == iso((TODAY - 39) * DAY_MS + 23 * HOUR_MS)
    response = await world.call("GET", f"{site}/totals?by=hour&from={day_text(TODAY - 39)}", headers=headers)
    assert response.body["totals"][0] == first


@pytest.mark.rule("X3", "C3", "C4", "S6", "L3")
async def test_totals_require_the_same_access_as_reports(world):
    user = await world.user()
    other = await world.session(await world.user())
    account = await world.account(user, link_host="go.example.com")
    headers = await world.session(user)
    site, link = await world.store.run(a_site(account.id)), await world.store.run(a_link(account.id))
    paths = (f"/v1/sites/{site}/totals", f"/v1/links/{link}/totals")
    for target in (site, link):
        await world.store.run(pushed(account.id, TODAY - 1, target, {4: Counts(5, 1, 2)}))
    allowed = await world.key(user, "reports", allow_accounts=(EDGE_ACCOUNT,))
    limited = await world.key(user, "reports", allow_accounts=(OTHER_EDGE_ACCOUNT,))
    unfit = await world.key(user, "accounts", "sites", "links")

    async def check_access() -> None:
        for path in paths:
            for permitted in (headers, allowed):
                points = (await world.call("GET", path, headers=permitted)).body["totals"]
                assert [point["views"] for point in points] == [5]
            for refused in (other, limited):
                is_error(await world.call("GET", path, headers=refused), 404, "not_found")
            is_error(await world.call("GET", path, headers=unfit), 403, "scope_required")
            is_error(await world.call("GET", path), 401, "unauthorized")

    await check_access()
    for path in paths:
        deleting = headers | {"Idempotency-Key": path}
        assert (await world.call("DELETE", path.removesuffix("/totals"), headers=deleting, json={})).status == 200
    await check_access()
    assert (await world.call("DELETE", f"/v1/accounts/{account.id}", headers=headers, json={})).status == 200
    await check_access()


@pytest.mark.rule("X3")
async def test_many_pages_are_one_response(world):
    headers, site, _ = await counted(world)
    days = range(30_000, 30_000 + 5 * PAGE)
    await world.store.run(stored_days(site.rpartition("/")[2], days))
    path = f"{site}/totals?from={day_text(days[0])}"
    points = (await world.call("GET", path, headers=headers)).body["totals"]
    assert points == [
        {"at": iso(day * DAY_MS), "views": day % 977, "bots": day % 13, "visitors": day % 89} for day in days
    ]
    _, *rows = await table(world, path, headers)
    assert [row[:2] for row in rows] == [[day_text(day), str(day % 977)] for day in days]


@pytest.mark.rule("X3")
async def test_pages_contain_each_row_once_while_rows_change(store):
    account_id = await store.run(an_account())
    targets = [await store.run(a_link(account_id, f"code{n}")) for n in range(3)]
    for target in targets:
        await store.run(stored_days(target, range(0, 20, 2)))
    seen, after, pages = [], None, 0
    while page := await store.read(days_page(targets, 0, 19, after, limit=7)):
        seen += page
        after = page[-1]
        pages += 1
        # Insert a row after the position that the stream has reached, and change the counts of the current day.
        await store.run(stored_days(after["target"], range(after["at"] + 1, after["at"] + 2)))
        if after["at"]:
            await store.run(one(sql("update days set views = views + 1000 where day = $1", after["at"])))
    places = [(row["target"], row["at"]) for row in seen]
    assert places == sorted(set(places))
    assert {(target, day) for target in targets for day in range(0, 20, 2)} <= set(places)
    assert pages > 4
    assert await store.read(days_page([], 0, 19)) == []
    assert await store.read(hours_page(targets, 0, 19)) == []


@asynccontextmanager
async def half_read(port: int, headers: dict[str, str], path: str, version: str) -> AsyncIterator[trio.SocketStream]:
    """Connect a client, send its request, and read only the beginning of the response."""
    client = trio.socket.socket()
    client.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, SMALL_BYTES)
    await client.connect(("127.0.0.1", port))
    async with trio.SocketStream(client) as stream:
        asked = head("GET", path, Authorization=headers["Authorization"])
        await stream.send_all(asked.replace(b"HTTP/1.1", version.encode(), 1))
        assert (await stream.receive_some(100)).startswith(b"HTTP/1.1 200")
        yield stream


async def the_rest(stream: trio.SocketStream) -> int:
    """Read to the end and return the number of bytes. Raises BrokenResourceError if the connection is reset."""
    got = 0
    with trio.fail_after(20):
        while data := await stream.receive_some():
            got += len(data)
    return got


async def a_long_series(world: World) -> tuple[dict[str, str], str]:
    headers, site, _ = await counted(world)
    await world.store.run(stored_days(site.rpartition("/")[2], range(12 * PAGE)))
    return headers, f"{site}/totals"


@pytest.mark.rule("X3")
@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
async def test_response_is_visibly_aborted_if_the_store_becomes_unavailable(
    server, clock, tmp_path, expected_errors, version
):
    expected_errors.allow("^store unavailable")
    with postgres_config(server.url) as config:
        async with open_store(config) as store, open_world(store, clock, tmp_path) as world:
            headers, path = await a_long_series(world)
            async with (
                served(world, buffer_bytes=SMALL_BYTES) as port,
                half_read(port, headers, path, version) as stream,
            ):
                await trio.to_thread.run_sync(server.kill)
                try:
                    with pytest.raises(trio.BrokenResourceError):
                        await the_rest(stream)
                finally:
                    await trio.to_thread.run_sync(server.start)


@pytest.mark.rule("X3", "G8")
@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
async def test_response_is_visibly_aborted_after_an_exception(clock, tmp_path, expected_errors, version):
    expected_errors.allow("^response aborted: .*no such table")
    async with open_store(sqlite_config(tmp_path)) as store, open_world(store, clock, tmp_path) as world:
        headers, path = await a_long_series(world)
        async with served(world, buffer_bytes=SMALL_BYTES) as port, half_read(port, headers, path, version) as stream:
            await world.store.run(one(sql("drop table days")))
            with pytest.raises(trio.BrokenResourceError):
                await the_rest(stream)


@pytest.mark.rule("X3")
@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
async def test_slow_client_gets_everything_without_blocking_the_store(clock, tmp_path, version):
    async with open_store(sqlite_config(tmp_path)) as store, open_world(store, clock, tmp_path) as world:
        headers, path = await a_long_series(world)
        whole = (await world.call("GET", path, headers=headers)).raw
        assert len(json.loads(whole)["totals"]) == 12 * PAGE + 5
        async with served(world, buffer_bytes=SMALL_BYTES) as port, half_read(port, headers, path, version) as stream:
            await world.store.run(one(sql("update users set plan = 'api'")))
            # SQLite can shorten its write-ahead log only while no transaction is reading.
            with closing(sqlite3.connect(tmp_path / "svc.db")) as connection:
                busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
            assert busy == 0
            got = b""
            with trio.fail_after(20):
                while not got.endswith(b"]}" if version == "HTTP/1.0" else b"\r\n0\r\n\r\n"):
                    got += await stream.receive_some()
            assert len(got) > len(whole)


@pytest.mark.rule("X3")
@pytest.mark.parametrize("render", [_json, _csv])
async def test_slow_client_keeps_no_rows_in_memory(tmp_path, render):
    async with open_store(sqlite_config(tmp_path)) as store:
        await store.run(stored_days("site_a", range(3 * PAGE)))
        series = _Series(store, "site_a", 0, 3 * PAGE, "day")
        # measure only the second run, because the first run also makes one-time allocations
        for traced in (False, True):
            async with aclosing(render(series, await series.page())) as chunks:
                await anext(chunks)
                tracemalloc.start()
                try:
                    chunk = await anext(chunks)
                    # let Trio drop the task's last result, which it keeps until the next step
                    await trio.lowlevel.checkpoint()
                    assert not traced or tracemalloc.get_traced_memory()[0] < 2 * len(chunk) + 20_000
                finally:
                    tracemalloc.stop()


@pytest.mark.rule("X3")
async def test_disconnecting_client_releases_its_slot(world):
    """The server has only one slot. The next client gets that slot and a complete response."""
    headers, path = await a_long_series(world)
    async with served(world, connections=1, buffer_bytes=SMALL_BYTES) as port:
        for _ in range(3):
            async with half_read(port, headers, path, "HTTP/1.1"):
                pass
        async with await trio.open_tcp_stream("127.0.0.1", port) as last:
            await last.send_all(head("GET", path, Authorization=headers["Authorization"]))
            status, _, body = await response_of(last)
        assert status == 200
        assert len(json.loads(body)["totals"]) == 12 * PAGE + 5
