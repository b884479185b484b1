"""Tests of imported days, which are stored next to the days that a Worker counted. A Worker's day takes precedence."""

from __future__ import annotations

import pytest
import trio

from svc.clock import DAY_MS, day_of
from svc.model import Counts
from svc.store import link_lists, site_lists, sites, totals
from svc.store.imported_days import Compared, Target, compare_days, import_days, targets_named
from svc.store.totals import ingest
from svc.store.tx import sql
from svc.worker.pushed import PushedPart
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, an_account

TODAY = day_of(START_MS)
YESTERDAY = TODAY - 1


@pytest.fixture
async def site(store, account_id):
    await store.run(a_site(account_id))
    [found] = await store.read(targets_named([account_id], "site", "shop.example.com"))
    return found


def pushed(target: Target, day: int, counts: Counts, *, final: bool = False) -> PushedPart:
    row = (target.id, counts.views, counts.bots, counts.visitors)
    return PushedPart(1, day, (day + 1) * DAY_MS, final, (), (), (row,))


def rows_of(target: Target):
    rows = yield sql("select day, views, as_of, final, imported from days where target = $1 order by day", target.id)
    return [tuple(row.values()) for row in rows]


@pytest.mark.rule("X4")
async def test_days_are_imported_once_and_marked(store, site):
    days = {YESTERDAY: Counts(5, 1, 4), TODAY - 400: Counts(7, 0, 0), TODAY: Counts(9), TODAY + 1: Counts(9)}
    changes: list[str] = []
    with store.changes.subscribe(changes.append):
        compared = await store.read(compare_days(site, days))
        assert await store.read(rows_of(site)) == []
        assert await store.run(import_days(site, days)) == compared
    assert compared == Compared(added=(TODAY - 400, YESTERDAY), own=(TODAY, TODAY + 1))
    assert changes == []
    stored = [(TODAY - 400, 7, 0, 1, 1), (YESTERDAY, 5, 0, 1, 1)]
    assert await store.read(rows_of(site)) == stored
    again = await store.run(import_days(site, days))
    assert again == Compared(same=(TODAY - 400, YESTERDAY), own=(TODAY, TODAY + 1))
    assert await store.read(rows_of(site)) == stored


@pytest.mark.rule("X4")
async def test_estimates_are_marked_and_replaced_like_other_numbers(store, site):
    days = {YESTERDAY: Counts(5), TODAY - 3: Counts(7)}

    async def marked():
        return await store.read(totals.imported_days(site.id, 0, TODAY))

    await store.run(import_days(site, days, estimates={TODAY - 3}))
    assert await marked() == {YESTERDAY: False, TODAY - 3: True}
    assert (await store.run(import_days(site, days, estimates={TODAY - 3}))).same == (TODAY - 3, YESTERDAY)
    assert (await store.run(import_days(site, days))).other == (TODAY - 3,)
    assert await marked() == {YESTERDAY: False, TODAY - 3: True}
    assert (await store.run(import_days(site, days, replace=True))).other == (TODAY - 3,)
    assert await marked() == {YESTERDAY: False, TODAY - 3: False}
    # Counts from the Worker are never marked as estimates.
    await store.run(import_days(site, days, estimates={YESTERDAY}, replace=True))
    await store.run(totals.ingest(site.account_id, [pushed(site, YESTERDAY, Counts(8))], TODAY * DAY_MS))
    assert await marked() == {TODAY - 3: False}
    assert await store.read(estimated_of(site)) == 0


def estimated_of(target: Target):
    rows = yield sql("select count(*) as n from days where target = $1 and estimated = 1", target.id)
    return rows[0]["n"]


@pytest.mark.rule("X4")
async def test_imported_numbers_are_kept_unless_replace_is_set(store, site):
    await store.run(import_days(site, {YESTERDAY: Counts(5, 1, 4)}))
    assert (await store.run(import_days(site, {YESTERDAY: Counts(3)}))).other == (YESTERDAY,)
    assert (await store.read(totals.day_counts(site.id, 0, TODAY)))[YESTERDAY] == (Counts(5, 1, 4), 0, True)
    assert (await store.run(import_days(site, {YESTERDAY: Counts(3)}, replace=True))).other == (YESTERDAY,)
    assert (await store.read(totals.day_counts(site.id, 0, TODAY)))[YESTERDAY] == (Counts(3), 0, True)


@pytest.mark.rule("W3", "X4")
@pytest.mark.parametrize("final", [False, True])
async def test_push_always_replaces_an_imported_day(store, account_id, site, final):
    """The push wins even if its numbers are smaller, and regardless of whether it arrives before or after the
    import.
    """
    await store.run(import_days(site, {YESTERDAY: Counts(500, 9, 400), TODAY - 2: Counts(6)}))
    part = pushed(site, YESTERDAY, Counts(1), final=final)
    await store.run(ingest(account_id, [part], START_MS))
    own = (YESTERDAY, 1, TODAY * DAY_MS, int(final), 0)
    assert await store.read(rows_of(site)) == [(TODAY - 2, 6, 0, 1, 1), own]
    found = await store.run(import_days(site, {YESTERDAY: Counts(500)}, replace=True))
    assert found == Compared(own=(YESTERDAY,))
    assert (await store.read(rows_of(site)))[1] == own


@pytest.mark.rule("W3", "X4")
async def test_concurrent_import_and_pushes_keep_the_pushed_numbers(store, account_id, site):
    days = {day: Counts(50) for day in range(TODAY - 8, TODAY)}
    async with trio.open_nursery() as nursery:
        for day in days:
            nursery.start_soon(store.run, ingest(account_id, [pushed(site, day, Counts(1))], START_MS))
            nursery.start_soon(store.run, import_days(site, days, replace=True))
    assert await store.read(rows_of(site)) == [(day, 1, (day + 1) * DAY_MS, 0, 0) for day in days]


@pytest.mark.rule("X4")
async def test_first_of_concurrent_imports_wins(store, site):
    found: list[Compared] = []

    async def bring_in(views: int) -> None:
        found.append(await store.run(import_days(site, dict.fromkeys(range(TODAY - 300, TODAY), Counts(views)))))

    async with trio.open_nursery() as nursery:
        for views in range(1, 6):
            nursery.start_soon(bring_in, views)
    assert sorted((len(one.added), len(one.other)) for one in found) == [(0, 300)] * 4 + [(300, 0)]
    assert len({views for _, views, *_ in await store.read(rows_of(site))}) == 1


@pytest.mark.rule("X4")
async def test_lists_include_imported_days(store, account_id, site):
    link_id = await store.run(a_link(account_id))
    [link] = await store.read(targets_named([account_id], "link", "sale26"))
    assert link.id == link_id
    for target in (site, link):
        await store.run(import_days(target, {YESTERDAY: Counts(5, 1, 4), TODAY - 7: Counts(2), TODAY - 8: Counts(90)}))
    assert await store.read(site_lists.series_7d([site.id], TODAY)) == {site.id: (2, 0, 0, 0, 0, 0, 5)}
    assert await store.read(link_lists.clicks_7d([link_id], TODAY)) == {link_id: 7}


@pytest.mark.rule("X4")
async def test_deleted_targets_are_not_found_by_name(store, account_id, site):
    other = await store.run(an_account())
    await store.run(a_site(other))
    assert await store.read(targets_named([other, account_id], "site", "shop.example.com")) != [site]
    assert await store.read(targets_named([], "site", "shop.example.com")) == []
    await store.run(sites.delete_site(account_id, site.id))
    assert await store.read(targets_named([account_id], "site", "shop.example.com")) == []
