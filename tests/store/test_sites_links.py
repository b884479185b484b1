"""Tests of sites and links.

The hosts of active sites are unique, and so are the codes of an account's active links. Each user can have a limited
number of sites and links. Each change increments the account's configuration version, and stores this version in the
site or link.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.clock import day_of
from svc.errors import Conflict, ErrorNote, Forbidden, NotFound, ServiceError
from svc.model import Link, ObsoleteRoute, Rule, SiteChange
from svc.store import accounts, link_lists, links, site_lists, site_paths, sites, totals, unwanted_routes
from svc.store.link_lists import LinkFilter
from svc.store.tx import sql
from svc.store.versions import bump_version
from svc.worker.pushed import PushedPart
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, a_user, an_account, new_link, new_site, owner_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Store, Tx

TODAY = day_of(START_MS)


async def codes(store: Store, transactions: Sequence[Tx[object]]) -> list[str]:
    """Run all transactions concurrently. Return their sorted results: "ok" or an error code for each."""
    ends = []

    async def one(tx):
        try:
            await store.run(tx)
            ends.append("ok")
        except ServiceError as error:
            ends.append(error.code)

    async with trio.open_nursery() as nursery:
        for tx in transactions:
            nursery.start_soon(one, tx)
    return sorted(ends)


def _delete(table: str, row_id: str, account_id: str) -> Tx[None]:
    """Delete a site or link as the service does, by setting its state and a new version."""
    version = yield from bump_version(account_id)
    yield sql(f"update {table} set state = 'deleted', version = $2 where id = $1", row_id, version)


@pytest.mark.rule("L1")
async def test_code_requested_ten_times_concurrently_is_assigned_once(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    ends = await codes(store, [links.add_link(new_link(user_id, account_id, "sale"), 100) for _ in range(10)])
    assert ends == [*["link_exists"] * 9, "ok"]
    assert [link.code for link in await store.read(link_lists.list_links(LinkFilter(user_id)))] == ["sale"]


@pytest.mark.rule("L1")
async def test_codes_are_case_sensitive_and_unique_per_account(store):
    first, second = await store.run(an_account()), await store.run(an_account())
    for account_id, code in ((first, "sale"), (first, "Sale"), (second, "sale")):
        await store.run(a_link(account_id, code))
    with pytest.raises(Conflict) as refused:
        await store.run(a_link(first, "Sale"))
    assert refused.value.code == "link_exists"


async def test_batch_of_links_has_one_version_and_a_result_per_link(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    await store.run(a_link(account_id, "old"))
    batch = [new_link(user_id, account_id, code) for code in ("a", "old", "b", "a", "c", "d")]
    batch[4] = replace(batch[4], url="https://go.example.com/loop")
    batch[5] = replace(batch[5], code="c", rules=(Rule("https://a.example", ("DE",), None),))
    results = await store.run(links.add_links(batch, 100))
    version = accounts.present(await store.read(accounts.account_by_id(account_id))).config_version
    outcomes = [result.code if isinstance(result, ServiceError) else result.version for result in results]
    assert outcomes == [version, "link_exists", version, "link_exists", "invalid_request", version]
    kept = await store.read(links.changed_links(account_id, version - 1))
    assert {link.id: link for link in kept} == {batch[n].id: results[n] for n in (0, 2, 5)}


async def test_batch_beyond_the_limit_adds_no_links(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    batch = [new_link(user_id, account_id, f"c{number:05}") for number in range(1_201)]
    before = await store.read(accounts.account_by_id(account_id))
    with pytest.raises(Forbidden, match="limit"):
        await store.run(links.add_links(batch, 1_200))
    assert await store.read(accounts.account_by_id(account_id)) == before
    assert await store.read(links.count_links(user_id)) == 0
    await store.run(links.add_links(batch[:1_200], 1_200))
    assert await store.read(links.count_links(user_id)) == 1_200
    again = await store.run(links.add_links(batch[:1_200], 1_200))
    assert {result.code for result in again if isinstance(result, ServiceError)} == {"link_exists"}
    assert len(again) == 1_200


@pytest.mark.rule("L1")
async def test_link_requires_a_link_host(store):
    account_id = await store.run(an_account(link_host=False))
    with pytest.raises(Conflict) as refused:
        await store.run(a_link(account_id))
    assert refused.value.code == "link_host_required"
    account = await store.read(accounts.account_by_id(account_id))
    assert account is not None
    assert account.config_version == 0


@pytest.mark.rule("L3")
async def test_code_of_a_deleted_link_is_free_and_the_record_stays(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    old_id = await store.run(a_link(account_id, "sale"))
    await store.run(_delete("links", old_id, account_id))
    new_id = await store.run(a_link(account_id, "sale"))
    old = await store.read(links.get_link(user_id, old_id))
    assert old is not None
    assert (old.state, old.code) == ("deleted", "sale")
    changed = await store.read(links.changed_links(account_id, 0))
    assert [(link.id, link.state) for link in changed] == [(old_id, "deleted"), (new_id, "active")]
    assert [link.id for link in await store.read(link_lists.list_links(LinkFilter(user_id)))] == [new_id]


@pytest.mark.rule("S1")
async def test_host_requested_ten_times_concurrently_is_assigned_once(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    ends = await codes(store, [sites.add_site(new_site(user_id, account_id), 100) for _ in range(10)])
    assert ends == ["ok", *["site_exists"] * 9]


@pytest.mark.rule("S6")
async def test_host_of_a_deleted_site_is_free_and_the_record_stays(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    old_id = await store.run(a_site(account_id))
    await store.run(_delete("sites", old_id, account_id))
    new_id = await store.run(a_site(account_id))
    old = await store.read(sites.get_site(user_id, old_id))
    assert old is not None
    assert old.state == "deleted"
    assert [site.id for site in await store.read(site_lists.list_sites(user_id))] == [new_id]
    assert {site.id for site in await store.read(sites.sites_of(account_id))} == {old_id, new_id}


async def test_limit_holds_for_concurrent_additions_in_all_accounts_of_a_user(store):
    user_id = await store.run(a_user())
    accounts_of_user = [await store.run(an_account(user_id)) for _ in range(2)]
    made = [links.add_link(new_link(user_id, accounts_of_user[number % 2], f"code{number}"), 5) for number in range(12)]
    assert await codes(store, made) == [*["limit_reached"] * 7, *["ok"] * 5]
    hosts = [
        sites.add_site(new_site(user_id, accounts_of_user[number % 2], f"h{number}.example.com"), 3)
        for number in range(8)
    ]
    assert await codes(store, hosts) == [*["limit_reached"] * 5, *["ok"] * 3]
    assert await store.read(links.count_links(user_id)) == 5
    assert await store.read(sites.count_sites(user_id)) == 3


async def test_deleted_sites_do_not_count_toward_the_limit(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    first = await store.run(sites.add_site(new_site(user_id, account_id, "a.example.com"), 1))
    with pytest.raises(Forbidden):
        await store.run(sites.add_site(new_site(user_id, account_id, "b.example.com"), 1))
    await store.run(_delete("sites", first.id, account_id))
    await store.run(sites.add_site(new_site(user_id, account_id, "b.example.com"), 1))


async def test_every_change_has_its_own_version(store):
    account_id = await store.run(an_account(link_host=False))
    user_id = await store.read(owner_of(account_id))
    hosts = [new_site(user_id, account_id, f"h{number}.example.com") for number in range(20)]
    async with trio.open_nursery() as nursery:
        for site in hosts:
            nursery.start_soon(store.run, sites.add_site(site, 100))
    stored = await store.read(sites.changed_sites(account_id, 0))
    assert [site.version for site in stored] == list(range(1, 21))
    assert [site.version for site in await store.read(sites.changed_sites(account_id, 15))] == list(range(16, 21))
    account = await store.read(accounts.account_by_id(account_id))
    assert account is not None
    assert account.config_version == 20


async def test_missing_account_is_not_found(store):
    user_id = await store.run(a_user())
    with pytest.raises(NotFound):
        await store.run(sites.add_site(new_site(user_id, "acc_nowhere"), 5))
    with pytest.raises(NotFound):
        await store.run(links.add_link(new_link(user_id, "acc_nowhere"), 5))


async def test_sites_and_links_are_read_as_stored(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    error = ErrorNote("route_conflict", "é \u2028 '\"", {"n": 1})
    site = await store.run(sites.add_site(replace(new_site(user_id, account_id), excluded_paths=(), error=error), 9))
    assert await store.read(sites.get_site(user_id, site.id)) == site
    rules = (
        Rule("https://a.example/é?x=1&y='"),
        Rule("https://b.example/", countries=("DE", "AT")),
        Rule("https://c.example/", devices=("mobile",)),
        Rule("https://d.example/", countries=(), devices=("desktop", "mobile")),
    )
    link = await store.run(links.add_link(replace(new_link(user_id, account_id), rules=rules), 9))
    assert await store.read(links.get_link(user_id, link.id)) == link


@pytest.mark.rule("G10")
async def test_objects_of_another_user_are_not_found(store):
    account_id = await store.run(an_account())
    site_id, link_id = await store.run(a_site(account_id)), await store.run(a_link(account_id))
    stranger = await store.run(a_user())
    assert await store.read(sites.get_site(stranger, site_id)) is None
    assert await store.read(links.get_link(stranger, link_id)) is None
    assert await store.read(site_lists.list_sites(stranger)) == []
    assert await store.read(link_lists.list_links(LinkFilter(stranger, account_id))) == []


async def test_list_pages_are_in_the_order_of_creation(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    for number in range(7):  # both links of a pair were created at the same time, so their ids determine their order
        await store.run(links.add_link(new_link(user_id, account_id, f"code{number}", START_MS + number // 2), 100))
    whole = await store.read(link_lists.list_links(LinkFilter(user_id)))
    assert [(link.created_at, link.id) for link in whole] == sorted((link.created_at, link.id) for link in whole)
    walked: list[Link] = []
    after = None
    while page := await store.read(link_lists.list_links(LinkFilter(user_id), limit=3, after=after)):
        assert len(page) <= 3
        walked += page
        after = link_lists.place_of("oldest", page[-1])
    assert walked == whole
    assert len(walked) == 7


@pytest.mark.rule("C4")
async def test_list_is_filtered_by_accounts(store):
    user_id = await store.run(a_user())
    first = await store.run(an_account(user_id, edge_account_id="a" * 32))
    second = await store.run(an_account(user_id, edge_account_id="b" * 32))
    in_first, in_second = await store.run(a_site(first)), await store.run(a_site(second))

    async def found(*narrow: Any) -> set[str]:
        return {site.id for site in await store.read(site_lists.list_sites(user_id, *narrow))}

    assert await found() == {in_first, in_second}
    assert await found(first) == {in_first}
    assert await found(None, ("b" * 32,)) == {in_second}
    assert await found(None, ("a" * 32, "b" * 32, "c" * 32)) == {in_first, in_second}
    assert await found(first, ("b" * 32,)) == set()
    assert await found(None, ()) == set()


async def test_route_result_is_stored_but_not_for_a_deleted_site(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    made, held, gone = [await store.run(a_site(account_id, f"{name}.example.com")) for name in ("a", "b", "c")]
    await store.run(_delete("sites", gone, account_id))
    conflict = ErrorNote("route_conflict", "held")
    path = {site.id: site.path for site in await store.read(sites.sites_of(account_id))}
    await store.run(sites.set_site_route(made, path[made], "z2", "active", "r1", None))
    await store.run(sites.set_site_route(made, "/another", "z3", "route_pending", None, None))
    await store.run(sites.set_site_route(held, path[held], "z2", "route_conflict", None, conflict))
    await store.run(sites.set_site_route(gone, path[gone], "z2", "active", "r3", None))
    states = {
        site.id: (site.state, site.route_id, site.error)
        for site in await store.read(sites.sites_of(account_id))
        if site.zone_id == "z2"
    }
    assert states == {
        made: ("active", "r1", None),
        held: ("route_conflict", None, conflict),
    }
    assert [site.id for site in await store.read(sites.unrouted_sites(account_id))] == [held]
    assert await store.read(sites.get_site(user_id, "site_nowhere")) is None


@pytest.mark.rule("L4")
async def test_clicks_are_by_people_in_the_last_seven_closed_days(store):
    account_id = await store.run(an_account())
    busy, idle = await store.run(a_link(account_id, "busy")), await store.run(a_link(account_id, "idle"))
    for ago, views in ((8, 1_000), (7, 1), (4, 20), (1, 300), (0, 4_000)):
        day = TODAY - ago
        part = PushedPart(ago, day, day * 86_400_000, False, (), (), ((busy, views, 50_000, 1),))
        assert (await store.run(totals.ingest(account_id, [part], START_MS))).refused == ()
    assert await store.read(link_lists.clicks_7d([busy, idle], TODAY)) == {busy: 321, idle: 0}
    assert await store.read(link_lists.clicks_7d([], TODAY)) == {}


@pytest.mark.rule("S5", "S2")
async def test_path_is_never_reused_on_a_host(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    site = await store.run(sites.add_site(new_site(user_id, account_id), 9))
    paths = {site.path}
    for _ in range(2):
        rotated = await store.run(site_paths.rotate_site(account_id, site.id, site.path, "abc", "code", START_MS + 5))
        assert rotated.path not in paths
        paths.add(rotated.path)
    await store.run(site_paths.end_paths(account_id, START_MS + 5))
    await store.run(sites.delete_site(account_id, site.id))
    for path in paths:
        again = await store.run(sites.add_site(replace(new_site(user_id, account_id), path=path), 9))
        assert again.path not in paths
        await store.run(sites.delete_site(account_id, again.id))
    elsewhere = replace(new_site(user_id, account_id, "other.example.com"), path=site.path)
    assert (await store.run(sites.add_site(elsewhere, 9))).path == site.path


@pytest.mark.rule("S5")
async def test_expired_old_paths_end_together_under_one_version(store):
    account_id = await store.run(an_account())
    first, second = await store.run(a_site(account_id)), await store.run(a_site(account_id, "b.example.com"))
    for n, site_id in enumerate((first, first, second, second)):
        await store.run(site_paths.rotate_site(account_id, site_id, f"/new{n}", "abc", "code", START_MS + n))
    assert await store.read(site_paths.next_path_end(account_id)) == START_MS
    await store.run(site_paths.end_paths(account_id, START_MS - 1))
    before = accounts.present(await store.read(accounts.account_by_id(account_id)))
    await store.run(site_paths.end_paths(account_id, START_MS + 2))
    after = accounts.present(await store.read(accounts.account_by_id(account_id)))
    assert after.config_version == before.config_version + 1
    changed = await store.read(sites.changed_sites(account_id, before.config_version))
    assert {site.id: ([old.until for old in site.retiring], len(site.ended_paths)) for site in changed} == {
        first: ([], 2),
        second: ([START_MS + 3], 1),
    }
    assert {ended.version for site in changed for ended in site.ended_paths} == {after.config_version}
    unwanted = await store.read(unwanted_routes.of_account(account_id))
    gone = {(site.id, f"{site.host}{ended.path}*") for site in changed for ended in site.ended_paths}
    assert {(route.site_id, route.pattern) for route in unwanted} == gone
    assert await store.read(site_paths.next_path_end(account_id)) == START_MS + 3


@pytest.mark.rule("S5", "S6")
async def test_route_of_a_path_rotated_in_the_meantime_belongs_to_the_old_path(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    site_id = await store.run(a_site(account_id))
    first = await store.read(sites.get_site(user_id, site_id))
    await store.run(site_paths.rotate_site(account_id, site_id, "/new", "abc", "code", START_MS))
    await store.run(sites.set_site_route(site_id, first.path, "zone", "active", "r1", None))
    site = await store.read(sites.get_site(user_id, site_id))
    assert (site.state, site.route_id, site.retiring[0].route_id) == ("route_pending", None, "r1")
    await store.run(sites.set_site_route(site_id, "/new", "zone", "active", "r2", None))
    assert await store.read(sites.unrouted_sites(account_id)) == []
    # The zone was removed from the account, together with the routes of both paths.
    await store.run(sites.set_site_route(site_id, "/new", "zone", "route_pending", "r2", None))
    [site] = await store.read(sites.unrouted_sites(account_id))
    assert site.retiring[0].route_id is None
    await store.run(sites.delete_site(account_id, site_id))
    await store.run(sites.set_site_route(site_id, first.path, "zone", "active", "r3", None))
    await store.run(sites.set_site_route(site_id, "/new", "zone", "active", "r4", None))
    site = await store.read(sites.get_site(user_id, site_id))
    assert (site.state, site.route_id, site.retiring) == ("deleted", None, ())
    unwanted = await store.read(unwanted_routes.of_account(account_id))
    assert sorted(route.pattern for route in unwanted) == sorted(f"{site.host}{path}*" for path in ("/new", first.path))


@pytest.mark.rule("S8")
async def test_remaining_route_is_shown_until_the_user_has_seen_it(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    site_id = await store.run(a_site(account_id))
    site = await store.read(sites.get_site(user_id, site_id))
    left = ErrorNote("route_not_ours", "The route a.example/old* is left in place.", {"pattern": "a.example/old*"})
    old_route = ObsoleteRoute(account_id, "zone", "a.example", "a.example/old*", "r0", site_id)
    await store.run(unwanted_routes.forget(old_route, left))

    async def shown():
        return (await store.read(sites.get_site(user_id, site_id))).error

    await store.run(sites.set_site_route(site_id, site.path, "zone", "active", "r1", None))
    assert await shown() == left
    site = await store.read(sites.get_site(user_id, site_id))
    await store.run(sites.record_site_route(site, "route_pending", None, None))
    assert await shown() == left
    await store.run(sites.change_site(account_id, site_id, SiteChange()))
    assert await shown() is None
