"""Options of short links in the real runtime: the query of the short URL, the period, and the split."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.installed import DAY_MS, HOUR_MS, LINK_HOST
from edge_worker.test.test_config import rows_read, rows_written
from edge_worker.test.test_count import next_hour
from edge_worker.test.test_ledger import ledger

if TYPE_CHECKING:
    from edge_worker.harness.installed import InstalledWorker

URL = "https://example.net/x"
AFTER_URL = "https://example.net/over"
SPLIT = [{"url": "https://example.net/a", "share": 25}, {"url": "https://example.net/b", "share": 75}]
PEOPLE = 120


async def configure(worker: InstalledWorker, **options: Any) -> None:
    """Write a link with the code `abc` and these options."""
    await worker.configure({"link:abc": {"target": "lnk_a", "url": URL, **options}})


async def totals(worker: InstalledWorker) -> dict[str, Any]:
    """Close the current hour, and return the link's totals for today."""
    await worker.emulator.settled()
    await worker.crons_until_quiet(next_hour(await worker.clock(0)))
    [row] = await worker.sql("select totals from day where target = 'lnk_a'")
    found: dict[str, Any] = json.loads(row["totals"])
    return found


async def test_query_of_the_short_url_is_added_to_the_target(worker: InstalledWorker) -> None:
    rules = [{"devices": ["mobile"], "url": "https://example.net/m"}]
    await configure(worker, url="https://example.net/x?a=1#top", rules=rules, forward_query=True)

    async def target(query: str, **more: Any) -> str:
        return (await worker.click(f"abc{query}", **more)).headers["location"]

    assert await target("") == "https://example.net/x?a=1#top"
    assert await target("?q") == "https://example.net/x?a=1#top"
    sent = "?q&ref=mail&a=2&b=3&b=4&utm_campaign=Sale&%3Cc%3E=%27&d=[1]"
    assert await target(sent) == "https://example.net/x?a=1&b=3&b=4&utm_campaign=Sale&%3Cc%3E=%27&d=[1]#top"
    assert await target(sent, method="HEAD") == await target(sent)
    assert len(await target("?" + "&".join(f"p{n}={'x' * 90}" for n in range(150)))) in range(7_900, 8_001)
    await configure(worker, url="https://example.net/x?a=1#top", rules=rules)
    await worker.clock(61)
    assert await target(sent) == "https://example.net/x?a=1#top"
    found = await totals(worker)
    # Clicks are counted under the link's own target URL, even if the redirect added the visitor's query to it.
    assert found["targets"] == {"https://example.net/x?a=1#top": 6}
    assert found["sources"] == {"": 2, "qr": 4}
    assert found["campaigns"] == {"sale": 3}


@pytest.mark.rule("Y17")
async def test_clicks_outside_of_the_period_go_where_the_owner_chose_and_are_not_views(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    period = {"starts_at": now + HOUR_MS // 4, "ends_at": now + HOUR_MS // 2}
    await configure(worker, **period, after_url=AFTER_URL, forward_query=True)
    for second, location in ((0, AFTER_URL), (900, f"{URL}?a=1"), (1_800, AFTER_URL)):
        await worker.clock(second)
        for method in ("GET", "HEAD"):
            visit = await worker.click("abc?q&a=1", method=method)
            assert (visit.status, visit.headers["location"]) == (302, location)
            assert visit.headers["cache-control"] == "no-store"
        await worker.click("abc", ua="curl/8.14.1")
        await worker.click("abc", headers={"sec-purpose": "prefetch"})
    await worker.click("abc", ip="192.0.2.2")
    found = await totals(worker)
    assert found["outside"] == {"early": 1, "ended": 2}
    assert (found["views"], found["sources"]) == (1, {"qr": 1})
    assert found["bots"] == {"head": 3, "list": 3, "prefetch": 3}
    day = now // DAY_MS
    assert await ledger(worker, day) == {"accepted": {"lnk_a": [1, 9]}, "pushed": {"lnk_a": [1, 9]}}
    assert list(worker.receiver.days.values()) == [(1, 9, 1)]
    at = await worker.crons_until_quiet((day + 1) * DAY_MS + HOUR_MS)
    await worker.crons_until_quiet(at)
    assert (await ledger(worker, day))["pushed"] == {"lnk_a": [1, 9]}
    assert list(worker.receiver.days.values()) == [(1, 9, 1)]


@pytest.mark.rule("Y17")
async def test_without_a_url_clicks_outside_of_the_period_get_the_response_for_unknown_codes(
    worker: InstalledWorker,
) -> None:
    now = await worker.clock(0)
    await configure(worker, ends_at=now)
    page = await worker.click("abc", headers={"accept-language": "de"})
    assert (page.status, page.headers["content-language"], page.headers["cache-control"]) == (404, "de", "no-store")
    assert "location" not in page.headers
    assert (await worker.click("abc", method="HEAD")).status == 404
    await worker.configure({"host": {"host": LINK_HOST, "not_found_url": "https://example.net/none"}})
    await worker.clock(61)
    visit = await worker.click("abc?q")
    assert (visit.status, visit.headers["location"]) == (302, "https://example.net/none")
    assert visit.headers["cache-control"] == "no-store"
    found = await totals(worker)
    assert (found["views"], found["outside"], found["bots"]) == (0, {"ended": 2}, {"head": 1})


@pytest.mark.rule("Y17", "W3")
async def test_link_with_only_clicks_outside_of_its_period_writes_one_row_and_sends_nothing(
    worker: InstalledWorker,
) -> None:
    now = await worker.clock(0)
    await configure(worker, starts_at=now + 30 * DAY_MS, after_url=AFTER_URL)
    for number in range(20):
        await worker.click("abc", ip=f"192.0.2.{number}")
    found = await totals(worker)
    assert (found["views"], found["outside"]) == (0, {"early": 20})
    assert await worker.sql("select * from hour") == []
    assert await ledger(worker, now // DAY_MS) == {}
    assert (await worker.state())["dropped"] == dict.fromkeys((await worker.state())["dropped"], 0)
    await worker.crons_until_quiet((now // DAY_MS + 1) * DAY_MS + HOUR_MS)
    assert worker.receiver.days == {}
    [row] = await worker.sql("select totals from day")
    assert json.loads(row["totals"])["outside"] == {"early": 20}


@pytest.mark.rule("Y16")
async def test_visitor_gets_the_same_variant_in_every_isolate_and_while_the_database_fails(
    worker: InstalledWorker,
) -> None:
    await configure(worker, split=SPLIT, rules=[{"countries": ["FR"], "url": "https://example.net/fr"}])
    await worker.configure({"link:def": {"target": "lnk_d", "url": URL}})

    async def variant(person: int, **more: Any) -> str:
        visit = await worker.click("abc", ip=f"198.51.100.{person}", **more)
        assert (visit.status, visit.headers["cache-control"]) == (302, "no-store")
        assert "set-cookie" not in visit.headers
        return visit.headers["location"]

    chosen = {person: await variant(person) for person in range(PEOPLE)}
    counts = Counter(chosen.values())
    assert counts.keys() == {"https://example.net/a", "https://example.net/b"}
    # The probability that fewer than 10 or more than 60 of 120 people get this variant is below one in a million.
    assert counts["https://example.net/a"] in range(10, 61)
    assert [await variant(person, method="HEAD") for person in range(5)] == [chosen[person] for person in range(5)]
    assert await variant(0, cf={"country": "FR"}) == "https://example.net/fr"
    await worker.emulator.settled()
    # A new isolate reads as many rows for a link with a split as for a link without a split.
    rows = []
    for code in ("def", "abc"):
        await worker.emulator.new_isolates()
        before = await rows_read(worker)
        await worker.click(code, ua="curl/8.14.1")
        await worker.emulator.settled()
        rows.append(await rows_read(worker) - before)
    assert rows[0] == rows[1]
    await worker.emulator.fault("d1_drop_before", times=None)
    await worker.emulator.new_isolates()
    for person in range(30):
        assert await variant(person) == chosen[person]
    await worker.emulator.clear_faults()
    found = await totals(worker)
    served = Counter(chosen.values()) + Counter(chosen[person] for person in range(30))
    assert found["targets"] == {**served, "https://example.net/fr": 1}
    await worker.clock(120)
    # On other days and for other links, the visitor is in other buckets.
    await worker.configure({"link:ghi": {"target": "lnk_g", "url": URL, "split": SPLIT}})
    others = [(await worker.click("ghi", ip=f"198.51.100.{person}")).headers["location"] for person in range(PEOPLE)]
    assert others != list(chosen.values())
    await worker.clock(DAY_MS // 1000)
    assert [await variant(person) for person in range(PEOPLE)] != list(chosen.values())


async def test_new_options_write_no_further_rows(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    written: list[int] = []
    for options in (
        {},
        {"split": SPLIT, "forward_query": True, "starts_at": now - HOUR_MS, "ends_at": now + DAY_MS},
    ):
        await configure(worker, **options)
        await worker.clock(61 * (len(written) + 1))
        await worker.click("abc", ip="192.0.2.9")
        await worker.emulator.settled()
        before = await rows_written(worker)
        for person in range(10):
            await worker.click("abc", ip=f"192.0.2.{person}")
        await worker.emulator.settled()
        written.append(await rows_written(worker) - before)
    assert max(written) <= 2 * min(written)
