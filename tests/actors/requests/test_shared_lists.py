"""Tests of the breakdowns of a share: however many viewers there are, each report reads the account's database at most
once every five minutes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
import trio

from svc.clock import day_of, day_text
from svc.http.resources.shared import LIST_READS_PER_MINUTE, LISTS_S
from svc.store import link_hosts
from svc.store.tx import Changed, sql
from tests.store.makers import a_link, a_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.store.tx import Tx
    from tests.actors.conftest import Place, Service
    from tests.http.conftest import Response

pytestmark = pytest.mark.rule("Y13")

T = TypeVar("T")

WEEK = "?breakdowns=1&period=7d"


def unnoticed(tx: Tx[T]) -> Tx[T]:
    """Run the transaction without waking the account's actor, whose sync would also call the database."""
    try:
        step = next(tx)
        while True:
            step = tx.send([] if isinstance(step, Changed) else (yield step))
    except StopIteration as done:
        value: T = done.value
        return value


def targets(account_id: str) -> Tx[tuple[str, str]]:
    """Add a site and a link without a pending sync or a pending route. Return their ids."""
    yield from link_hosts.put_link_host(account_id, "go.example.com", "zone")
    site, link = (yield from a_site(account_id)), (yield from a_link(account_id))
    yield sql("update sites set state = 'active' where account_id = $1", account_id)
    yield sql("update link_hosts set state = 'active' where account_id = $1", account_id)
    yield sql("update accounts set config_version = synced_version where id = $1", account_id)
    return site, link


class Viewers:
    """Viewers of the shares of a site and a link, and the number of calls to the account's database."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def begin(self) -> Viewers:
        account = self.account = await self.service.account()
        store = self.service.store
        self.site, self.link = await store.run(unnoticed(targets(account.id)))
        self.path = await self.share(f"/v1/sites/{self.site}")
        await self.service.emulator.forget_requests()
        return self

    async def share(self, target: str) -> str:
        """Share a target with its breakdowns. Return the path of its report."""
        made = await self.service.call("POST", f"{target}/shares", {"name": "Shop", "lists": True})
        assert made.status == 201, made.raw
        return str(made.body["share"]["url"]).removeprefix("https://svc.example") + "/report"

    async def view(self, query: str = WEEK, path: str | None = None) -> Response:
        """Request a report without the user's credential."""
        return await self.service.world.call("GET", f"{path or self.path}{query}")

    async def at_once(self, number: int, path: str | None = None) -> Counter[tuple[int, Any, bool]]:
        """Request the report `number` times concurrently.

        Count the responses by status, `unavailable`, and whether they have lists.
        """
        found: Counter[tuple[int, Any, bool]] = Counter()

        async def view() -> None:
            response = await self.view(path=path)
            while response.status == 503:  # on a busy machine, the queue of the store may be full
                response = await self.view(path=path)
            report = response.body.get("report", {})
            found[response.status, report.get("unavailable"), report.get("breakdowns") is not None] += 1

        async with trio.open_nursery() as nursery:
            for _ in range(number):
                nursery.start_soon(view)
        return found

    async def calls(self) -> int:
        """Return the number of calls to the database."""
        return sum(call["path"].endswith("/query") for call in await self.service.emulator.requests())


@pytest.fixture
async def viewers(place: Place) -> AsyncIterator[Viewers]:
    place.edge = {"report_read_s": 60}  # on a busy machine, 1,000 requests may take a while
    async with place.running() as service:
        await service.ready()
        await service.idle()
        if day_of(service.clock() + 900_000) != day_of(service.clock()):
            # move the clock, but not past midnight: a report of other days would need a new read
            service.clock.advance_s(900)
        yield await Viewers(service).begin()


async def test_a_thousand_concurrent_viewers_cause_one_read_in_five_minutes(viewers):
    await viewers.service.emulator.fault("slow", "*/query", delay_s=0.5)
    assert await viewers.at_once(1_000) == {(200, None, True): 1_000}
    assert await viewers.calls() == 1
    viewers.service.clock.advance_s(LISTS_S - 1)
    assert await viewers.at_once(50) == {(200, None, True): 50}
    assert await viewers.calls() == 1
    viewers.service.clock.advance_s(1)
    assert await viewers.at_once(50) == {(200, None, True): 50}
    assert await viewers.calls() == 2


async def test_failed_read_is_not_repeated_for_five_minutes(viewers):
    await viewers.service.emulator.fault("html", "*/query", times=None, status=502)
    failed = await viewers.view()
    assert failed.body["report"]["unavailable"] == "cloudflare"
    calls = await viewers.calls()  # this number includes the retries of the failed read
    assert calls >= 1
    await viewers.service.emulator.clear_faults()
    viewers.service.clock.advance_s(LISTS_S - 60)
    assert await viewers.at_once(100) == {(200, "rate_limited", False): 100}
    refused = await viewers.view()
    assert refused.body["report"]["totals"]["views"] == 0
    assert refused.body["lists_at"] > failed.body["report"]["to"]
    assert await viewers.calls() == calls
    viewers.service.clock.advance_s(60)
    assert (await viewers.view()).body["report"]["breakdowns"] is not None
    assert await viewers.calls() == calls + 1


async def test_short_cache_time_of_reports_does_not_shorten_that_of_shares(place):
    place.timing = {"report_cache_s": 0.001}
    async with place.running() as service:
        await service.ready()
        await service.idle()
        viewers = await Viewers(service).begin()
        for _ in range(3):
            assert (await viewers.view()).body["report"]["breakdowns"] is not None
            service.clock.advance_s(20)
        assert await viewers.calls() == 1


async def test_each_target_and_each_period_has_its_own_read_and_a_user_has_a_limit(viewers):
    of_link = await viewers.share(f"/v1/links/{viewers.link}")
    for query, path in ((WEEK, None), ("?breakdowns=1&period=30d", None), (WEEK, of_link)):
        for _ in range(3):
            assert (await viewers.view(query, path)).body["report"]["breakdowns"] is not None
    assert await viewers.calls() == 3
    # A second share of the same site uses the result of the first share.
    another = await viewers.share(f"/v1/sites/{viewers.site}")
    assert (await viewers.view(WEEK, another)).body["report"]["breakdowns"] is not None
    assert await viewers.calls() == 3
    today = day_of(viewers.service.clock())
    found = [
        await viewers.view(f"?breakdowns=1&from={day_text(today - n)}&to={day_text(today - n)}") for n in range(20)
    ]
    read = [response for response in found if response.body["report"]["breakdowns"] is not None]
    assert len(read) == LIST_READS_PER_MINUTE - 3
    assert await viewers.calls() == LIST_READS_PER_MINUTE
    assert all("lists_at" in response.body for response in found if response not in read)
    # The owner can still read. Viewers' reads that were refused because of the limit do not count toward the owner's
    # limit.
    own = await viewers.service.call("GET", f"/v1/sites/{viewers.site}/report?period=month&breakdowns=1")
    assert own.body["report"]["breakdowns"] is not None
    viewers.service.clock.advance_s(60)
    last = await viewers.view(f"?breakdowns=1&from={day_text(today - 19)}&to={day_text(today - 19)}")
    assert last.body["report"]["breakdowns"] is not None


async def test_viewers_of_an_account_cause_one_read_for_each_site_and_period(viewers):
    """For a shared account, the service also reads each site at most once every five minutes. These reads count toward
    the limit of the account's user, and all shares use their results.
    """
    second = await viewers.service.store.run(unnoticed(another_site(viewers.account.id)))
    of_account = (await viewers.share(f"/v1/accounts/{viewers.account.id}")).removesuffix("/report")
    paths = [f"{of_account}/sites/{site}/report" for site in (viewers.site, second)]
    assert await viewers.at_once(200, paths[0]) == {(200, None, True): 200}
    assert await viewers.calls() == 1
    assert await viewers.at_once(50, paths[1]) == {(200, None, True): 50}
    assert (await viewers.view("?breakdowns=1&period=30d", paths[1])).body["report"]["breakdowns"] is not None
    assert await viewers.calls() == 3
    # The share of the same site uses the result, too.
    assert (await viewers.view()).body["report"]["breakdowns"] is not None
    viewers.service.clock.advance_s(LISTS_S - 1)
    assert await viewers.at_once(50, paths[0]) == {(200, None, True): 50}
    assert await viewers.calls() == 3
    viewers.service.clock.advance_s(1)
    assert await viewers.at_once(50, paths[0]) == {(200, None, True): 50}
    assert await viewers.calls() == 4
    # Shares may use a part of the owner's reads. If viewers select many different days, they use up this part, and then
    # see totals only.
    today = day_of(viewers.service.clock())
    found = [
        await viewers.view(f"?breakdowns=1&from={day_text(today - n)}&to={day_text(today - n)}", paths[n % 2])
        for n in range(1, 20)
    ]
    assert await viewers.calls() == 3 + LIST_READS_PER_MINUTE
    refused = [response for response in found if response.body["report"]["breakdowns"] is None]
    assert len(refused) == len(found) - (LIST_READS_PER_MINUTE - 1)
    assert all(response.body["report"]["totals"]["views"] == 0 and response.body["lists_at"] for response in refused)


def another_site(account_id: str) -> Tx[str]:
    """Add a site without a pending sync or a pending route. Return its id."""
    site = yield from a_site(account_id, "blog.example.com")
    yield sql("update sites set state = 'active' where id = $1", site)
    yield sql("update accounts set config_version = synced_version where id = $1", account_id)
    return site


async def test_viewers_use_the_result_of_the_owner(viewers):
    own = await viewers.service.call("GET", f"/v1/sites/{viewers.site}/report?period=7d&breakdowns=1")
    assert own.body["report"]["breakdowns"] is not None
    assert (await viewers.view()).body["report"]["breakdowns"] is not None
    assert await viewers.calls() == 1
