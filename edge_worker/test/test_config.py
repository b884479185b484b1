"""The configuration: delays of changes, behavior during a database outage, cost of requests for unknown targets."""

from __future__ import annotations

import json

import pytest
import trio

from edge_worker.harness.installed import CHROME, DAY_MS, LINK_HOST, SITE_HOST, SITE_PATH, InstalledWorker, first_log_id
from edge_worker.harness.sampling import EVERYTHING

FRESH_S, STALE_S = 10, 60
# The maximum number of links per account. In `make test`, a smaller number is enough: if a request read all links, the
# test would still fail.
LINKS = 10_000 if EVERYTHING else 2_000


def link(url: str) -> dict[str, str]:
    """Return a link's row."""
    return {"target": "lnk_a", "url": url}


async def rows_read(worker: InstalledWorker) -> int:
    """Return the number of rows that the account has read."""
    state = await worker.emulator.state()
    usage = state["accounts"][worker.customer.account_id]["usage"]
    return sum(day["rows_read"] for day in usage.values())


async def rows_written(worker: InstalledWorker) -> int:
    """Return the number of rows that the account has written."""
    state = await worker.emulator.state()
    usage = state["accounts"][worker.customer.account_id]["usage"]
    return sum(day["rows_written"] for day in usage.values())


@pytest.mark.rule("S7")
async def test_change_is_read_in_the_background_after_10_s_and_before_the_response_after_60_s(
    worker: InstalledWorker,
) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.configure({"link:abc": link("https://example.net/2"), "link:new": link("https://example.net/new")})
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.clock(FRESH_S + 1)
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.emulator.settled()
    assert (await worker.click("abc")).headers["location"] == "https://example.net/2"
    assert (await worker.click("new")).headers["location"] == "https://example.net/new"
    await worker.configure({"link:abc": None})
    await worker.clock(FRESH_S + STALE_S + 5)
    assert (await worker.click("abc")).status == 404


async def test_the_last_known_configuration_is_served_while_the_database_fails(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    for hours in (1, 24, 100):
        await worker.clock(hours * 3600)
        assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
        assert (await worker.view()).status == 204
    await worker.emulator.clear_faults()


@pytest.mark.rule("L5")
@pytest.mark.parametrize("first", ["link", "site"])
async def test_new_isolate_serves_copies_while_the_database_fails(worker: InstalledWorker, first: str) -> None:
    await worker.configure({"link:abc": link("https://example.net/1"), "link:never": link("https://example.net/2")})
    assert (await worker.click("abc")).status == 302
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    await worker.emulator.new_isolates()
    if first == "site":
        assert (await worker.view()).status == 204
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    # During the outage, the Worker cannot find out whether these codes have links.
    for code in ("never", "none"):
        assert (await worker.click(code)).status == 503
    assert (await worker.view()).status == 204
    await worker.emulator.clear_faults()
    await worker.clock(61)
    assert (await worker.click("never")).headers["location"] == "https://example.net/2"
    assert (await worker.click("none")).status == 404
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    counted = {"link": ["lnk_a"] * 3 + ["site_a"] * 3, "site": ["lnk_a"] * 3 + ["site_a"] * 4}[first]
    assert sorted(json.loads(line)[0] for line in lines) == counted


async def test_copy_belongs_to_one_data_center_and_expires_after_two_days(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    for place, days, status in (("FRA", 0, 503), ("AMS", 1.9, 302), ("AMS", 2.1, 503)):
        await worker.emulator.new_isolates(place)
        await worker.clock(days * DAY_MS / 1000)
        assert (await worker.click("abc")).status == status
    await worker.emulator.clear_faults()


@pytest.mark.rule("L3")
async def test_no_copy_restores_a_deleted_link_or_an_old_target(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1"), "link:xyz": link("https://example.net/x")})
    assert (await worker.click("abc")).status == 302
    assert (await worker.click("xyz")).status == 302
    await worker.emulator.settled()
    await worker.configure({"link:abc": None, "link:xyz": link("https://example.net/new")})
    await worker.emulator.new_isolates()  # the new isolates do not know these links
    assert (await worker.click("abc")).status == 404
    assert (await worker.click("xyz")).headers["location"] == "https://example.net/new"
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    await worker.emulator.new_isolates()
    assert (await worker.click("abc")).status == 503
    assert (await worker.click("xyz")).headers["location"] == "https://example.net/new"
    await worker.emulator.clear_faults()


async def test_copies_are_not_served_without_routes(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    await worker.api("DELETE", "/workers/scripts/svc-edge?force=true")
    kept = [(LINK_HOST, "/~config"), (LINK_HOST, "/~link/abc"), (SITE_HOST, "/~config")]
    for host, path in [*kept, (SITE_HOST, f"{SITE_PATH}/~config"), (SITE_HOST, "/ab3/~config")]:
        # the link host has a dummy DNS record without an origin server
        origin = "Error 522" if host == LINK_HOST else f"origin of {host}"
        assert origin in (await worker.emulator.visit(host, path)).body


async def test_new_isolate_without_copies_asks_a_links_visitor_to_retry(worker: InstalledWorker) -> None:
    await worker.emulator.fault("d1_drop_before", times=None)
    response = await worker.click("abc")
    assert (response.status, response.headers["retry-after"]) == (503, "5")
    # A path that cannot be a code may be a page of the site.
    await worker.emulator.add_page(SITE_HOST, f"{SITE_PATH}/page", "the shop")
    response = await worker.emulator.visit(SITE_HOST, f"{SITE_PATH}/page")
    assert (response.status, response.body) == (200, "the shop")
    await worker.emulator.clear_faults()


async def test_failed_read_is_retried_before_a_visitor_gets_an_error(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    await worker.emulator.fault("d1_drop_before")
    assert (await worker.click("abc")).status == 302


@pytest.mark.rule("W5")
async def test_links_work_when_the_daily_reads_are_used_up(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    await worker.emulator.set_usage(worker.customer.account_id, rows_read=5_000_000, rows_written=100_000)
    await worker.clock(3600)
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"


async def test_request_ended_during_its_read_delays_others_only_briefly(worker: InstalledWorker) -> None:
    await worker.configure({f"link:code{i}": link(f"https://example.net/{i}") for i in range(10)})
    await worker.emulator.fault("d1_end_before")
    statuses: list[int] = []

    async def visitor(i: int) -> None:
        statuses.append((await worker.click(f"code{i}")).status)

    with trio.fail_after(8):
        async with trio.open_nursery() as nursery:
            for i in range(10):
                nursery.start_soon(visitor, i)
    assert sorted(statuses) == [302] * 9 + [500]
    assert (await worker.click("code0")).status == 302
    # The same applies to a read that continues after a response: if it is ended, the next visitor's request starts a
    # new read.
    await worker.configure({"link:code0": link("https://example.net/new")})
    await worker.emulator.fault("d1_end_before")
    await worker.clock(FRESH_S + 1)
    for location in ("https://example.net/0", "https://example.net/0", "https://example.net/new"):
        assert (await worker.click("code0")).headers["location"] == location
        await worker.emulator.settled()
        await worker.clock(FRESH_S + 5)


async def add_links(worker: InstalledWorker, count: int) -> None:
    """Add the links code0, code1, … with a new configuration version."""
    await worker.sql(
        "insert into config(key, version, body) select 'link:code' || value, ?, "
        "json_object('target', 'lnk_' || value, 'url', 'https://example.net/' || value) from json_each(?)",
        worker.version + 1,
        json.dumps(list(range(count))),
    )
    await worker.configure({})


async def test_all_of_many_links_work_despite_requests_for_invented_codes(worker: InstalledWorker) -> None:
    await add_links(worker, LINKS)
    clicks = [f"code{i}" for i in range(0, LINKS, 25)]
    made_up = [f"none{i}" for i in range(len(clicks))]
    todo = iter([code for pair in zip(clicks, made_up, strict=True) for code in pair])
    before = await rows_read(worker)
    wrong: list[tuple[str, int]] = []

    async def visitor() -> None:
        for code in todo:
            visit = await worker.click(code)
            expected = f"https://example.net/{code[4:]}" if code.startswith("code") else None
            if (visit.status, visit.headers.get("location")) != (302 if expected else 404, expected):
                wrong.append((code, visit.status))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(visitor)
    assert wrong == []
    await worker.emulator.settled()
    # On the free plan, 100,000 requests and 5,000,000 read rows a day are allowed. At this rate, requests for codes
    # that are new to their isolates read less than half of these rows.
    assert await rows_read(worker) - before < 20 * len(clicks) * 2
    before = await rows_read(worker)
    for code in (clicks[0], clicks[-1]):
        assert (await worker.click(code)).status == 302
    assert await rows_read(worker) == before
    # If a code is requested again, the Worker checks whether a link with this code was created. With 100,000 such
    # requests a day, this check reads 600,000 rows.
    for code in (made_up[0], made_up[-1]):
        assert (await worker.click(code)).status == 404
    assert await rows_read(worker) - before <= 6 * 2


@pytest.mark.rule("Y2")
async def test_new_code_redirects_from_its_first_click(worker: InstalledWorker) -> None:
    # A visitor clicks before the service has written the link to the database.
    assert (await worker.click("abc")).status == 404
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.configure({"link:abc": None})
    await worker.clock(FRESH_S + STALE_S + 5)
    assert (await worker.click("abc")).status == 404
    await worker.configure({"link:abc": link("https://example.net/2")})
    assert (await worker.click("abc")).headers["location"] == "https://example.net/2"
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    assert len(lines) == 2


@pytest.mark.rule("Y2")
async def test_the_first_click_on_another_link_host_is_counted(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    await worker.route(f"{SITE_HOST}/*", "svc-edge")
    assert (await worker.click("abc")).status == 302
    assert (await worker.emulator.visit(SITE_HOST, "/page")).status == 404  # the response of the origin server
    await worker.configure({"host": {"host": SITE_HOST}})
    response = await worker.emulator.visit(SITE_HOST, "/abc", headers={"user-agent": CHROME})
    assert (response.status, response.headers.get("location")) == (302, "https://example.net/1")


async def test_unknown_code_is_not_found_while_the_database_fails(worker: InstalledWorker) -> None:
    assert (await worker.click("none")).status == 404
    await worker.emulator.fault("d1_drop_before", times=None)
    await worker.clock(FRESH_S)
    for _ in range(2):
        assert (await worker.click("none")).status == 404
    await worker.emulator.clear_faults()


async def test_new_isolate_reads_few_rows_for_any_number_of_sites_and_links(worker: InstalledWorker) -> None:
    sites = {f"path:s{i}.example.com/x/y": {"target": f"site_{i}", "script": "s"} for i in range(20)}
    await worker.configure(sites)
    await add_links(worker, 1_000)
    for visit in (lambda: worker.click("code500"), worker.view):
        await worker.emulator.new_isolates()
        before = await rows_read(worker)
        assert (await visit()).status in (302, 204)
        # This is measured before the event of the request is written.
        assert await rows_read(worker) - before <= 10
        await worker.emulator.settled()
        assert await rows_read(worker) - before < 30


async def test_import_costs_one_row_per_link_and_almost_nothing_in_other_isolates(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    read, written = await rows_read(worker), await rows_written(worker)
    await add_links(worker, 1_000)
    assert await rows_written(worker) - written <= 1_000 + 2
    read = await rows_read(worker)
    await worker.clock(FRESH_S + 1)
    for code in ("abc", "abc", "code7"):
        assert (await worker.click(code)).status == 302
    await worker.clock(2 * STALE_S)
    assert (await worker.click("code999")).status == 302
    await worker.emulator.settled()
    assert await rows_read(worker) - read < 60


@pytest.mark.rule("S7", "S5", "Y2")
async def test_new_path_counts_from_its_first_view(worker: InstalledWorker) -> None:
    for path in ("/bcdefgh2", "/cdef/gh23"):
        assert (await worker.view()).status == 204  # with this view, the isolate reads the configuration
        await worker.route(f"{SITE_HOST}{path}*", "svc-edge")
        await worker.configure({f"path:{SITE_HOST}{path}": {"target": "site_a", "script": "k3f"}})
        for method, end, status in (("POST", "", 204), ("GET", "/k3f.js", 200)):
            response = await worker.emulator.visit(
                SITE_HOST,
                path + end,
                method=method,
                headers={"user-agent": CHROME},
                body="/" if method == "POST" else None,
            )
            assert response.status == status
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    assert len(lines) == 4


async def test_page_with_the_path_form_of_a_site_is_served(worker: InstalledWorker) -> None:
    await worker.route(f"{SITE_HOST}/bcdefgh2*", "svc-edge")
    await worker.emulator.add_page(SITE_HOST, "/bcdefgh2", "the shop")
    assert (await worker.view()).status == 204
    for fault in ("", "d1_drop_before"):
        if fault:
            await worker.emulator.fault(fault, times=None)
        response = await worker.emulator.visit(SITE_HOST, "/bcdefgh2")
        assert (response.status, response.body) == (200, "the shop")
    await worker.emulator.clear_faults()


@pytest.mark.rule("S5")
async def test_retiring_path_counts_until_its_end_date(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    old = {"target": "site_a", "script": "old", "until": now + DAY_MS}
    await worker.configure({f"path:{SITE_HOST}{SITE_PATH}": old})
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    body = (await worker.sql("select lines from event_log"))[0]["lines"]
    assert [json.loads(line)[0] for line in body.splitlines()] == ["site_a"]
    await worker.clock(2 * DAY_MS / 1000)
    assert (await worker.view()).status != 204
    await worker.emulator.settled()
    assert (await worker.sql("select count(*) as n from event_log where id >= ?", first_log_id(now + DAY_MS)))[0] == {
        "n": 0
    }
