"""GET /v1/overview: the counts of all sites and links, and the sums of these counts, match the reports."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest

from edge_worker.harness.sampling import SEED
from svc.clock import DAY_MS, day_of, day_text, iso
from svc.model import Counts
from svc.store import links, sites, totals
from svc.worker.pushed import PushedPart
from tests.cases import cases
from tests.http.conftest import OTHER_EDGE_ACCOUNT
from tests.store.makers import a_broken_target, new_link, new_site

pytestmark = pytest.mark.both_engines

LENGTH = {"today": 1, "7d": 7, "30d": 30}
NOTHING = {"views": 0, "bots": 0, "visitors": 0}


class Place:
    """A user with two accounts, and a record of what their Workers have pushed."""

    def __init__(self, world, user, accounts):
        self.world, self.user, self.accounts = world, user, accounts
        self.today = day_of(world.clock())
        # counts by target, and then by the number of days before today
        self.days: defaultdict[str, dict[int, Counts]] = defaultdict(dict)
        self.targets: dict[str, dict[str, list[str]]] = {account.id: {"sites": [], "links": []} for account in accounts}

    async def add(self, account, *, site=0, link=0):
        """Add sites and links, created 70 days ago."""
        created = self.world.clock() - 70 * DAY_MS
        have = sum(len(own["sites"]) for own in self.targets.values())
        for number in range(have, have + site):
            site_made = replace(
                new_site(self.user.id, account.id, f"s{number:03}.example.com", created), state="active"
            )
            await self.world.store.run(sites.add_site(site_made, 10_000))
            self.targets[account.id]["sites"].append(site_made.id)
        for number in range(link):
            link_made = new_link(self.user.id, account.id, f"code{number:03}", created)
            await self.world.store.run(links.add_links([link_made], 100_000))
            self.targets[account.id]["links"].append(link_made.id)

    async def push(self, account, ago, counts, hours=24):
        """Push a day's counts (by target id), as the account's Worker does."""
        day = self.today - ago
        rows = tuple((target, *each) for target, each in counts.items())
        part = PushedPart(1, day, day * DAY_MS + hours * 3_600_000, ago > 0, (), (), rows)
        # write this to the store directly, because the service would now refuse a push for such an old day
        at = (day + 1) * DAY_MS
        assert (await self.world.store.run(totals.ingest(account.id, [part], at))).accepted == (1,)
        for target, (views, bots, visitors) in counts.items():
            self.days[target][ago] = Counts(views, bots, visitors)

    async def overview(self, query="", headers=None):
        """Return the overview."""
        headers = headers or await self.world.session(self.user)
        response = await self.world.call("GET", f"/v1/overview{query}", headers=headers)
        assert response.status == 200, response.raw
        return response.body["overview"]


def as_json(counts):
    return {"views": counts.views, "bots": counts.bots, "visitors": counts.visitors}


@pytest.fixture
async def place(world):
    user = await world.user()
    accounts = [
        await world.account(user, link_host="go.example.com"),
        await world.account(user, OTHER_EDGE_ACCOUNT, link_host="go.example.org"),
    ]
    return Place(world, user, accounts)


def expected(place, targets, period):
    """Return the expected entry of each target in the overview: its counts, its earlier counts and its daily views."""
    length = LENGTH[period]
    rows = {}
    for target in targets:
        own = place.days[target]
        now = sum((counts for ago, counts in own.items() if ago < length), Counts())
        earlier = [counts for ago, counts in own.items() if length <= ago < 2 * length]
        rows[target] = {
            "totals": as_json(now),
            "totals_before": as_json(sum(earlier, Counts())) if earlier else None,
            "series_30d": [own.get(ago, Counts()).views for ago in range(29, -1, -1)],
        }
    return rows


def sums(rows, field):
    known = [row[field] for row in rows.values() if row[field] is not None]
    if field == "totals_before" and not known:
        return None
    return {name: sum(row[name] for row in known) for name in NOTHING}


@cases("seed", [SEED, SEED + 1, SEED + 2])
async def test_overview_equals_simple_count_and_reports(place, seed):
    place = Place(place.world, await place.world.user(), [])
    chance = random.Random(seed)
    for edge in (f"{seed % 10**9:032x}", f"{seed % 10**9 + 10**10:032x}"):
        account = await place.world.account(place.user, edge, link_host="go.example.net")
        place.accounts.append(account)
        place.targets[account.id] = {"sites": [], "links": []}
        await place.add(account, site=chance.randrange(4), link=chance.randrange(5))
    for account in place.accounts:
        own = [*place.targets[account.id]["sites"], *place.targets[account.id]["links"]]
        for ago in chance.sample(range(65), 40) if own else ():
            counts = {target: (chance.randrange(9), chance.randrange(3), chance.randrange(5)) for target in own}
            await place.push(account, ago, counts, hours=1 if ago == 0 else 24)
    session = await place.world.session(place.user)
    for period, length in LENGTH.items():
        shown = await place.overview(f"?period={period}")
        assert (shown["from"], shown["to"]) == (day_text(place.today - length + 1), day_text(place.today))
        for kind, noun in (("sites", "site"), ("links", "link")):
            targets = [target for own in place.targets.values() for target in own[kind]]
            rows = expected(place, targets, period)
            group = shown[kind]
            found = {
                entry[noun]["id"]: {name: entry[name] for name in rows[entry[noun]["id"]]} for entry in group["entries"]
            }
            assert found == rows
            assert (group["number"], group["totals"]) == (len(targets), sums(rows, "totals"))
            assert group["totals_before"] == sums(rows, "totals_before")
            assert [entry["totals"]["views"] for entry in group["entries"]] == sorted(
                (row["totals"]["views"] for row in rows.values()), reverse=True
            )
        for site in shown["sites"]["entries"]:
            path = f"/v1/sites/{site['site']['id']}/report?period={period}"
            report = (await place.world.call("GET", path, headers=session)).body["report"]
            assert site["totals"] == report["totals"]


async def test_entries_are_sorted_and_limited(place):
    account = place.accounts[0]
    await place.add(account, site=4)
    first, second, third, _ = own = place.targets[account.id]["sites"]
    await place.push(account, 1, {first: (10, 0, 1), second: (30, 0, 1), third: (5, 0, 1)})
    await place.push(account, 8, {first: (10, 0, 1), second: (25, 0, 1), third: (50, 0, 1)})

    async def order(query):
        shown = await place.overview(f"?{query}")
        assert shown["sites"]["number"] == 4
        assert shown["sites"]["totals"]["views"] == 45
        return [own.index(entry["site"]["id"]) for entry in shown["sites"]["entries"]]

    assert await order("order=views") == [1, 0, 2, 3]
    assert await order("order=change") == [2, 1, 0, 3]
    assert await order("order=name") == [0, 1, 2, 3]
    assert await order("order=views&sites=2") == [1, 0]


async def test_link_entries_have_short_urls(place):
    await place.add(place.accounts[0], link=1)
    [entry] = (await place.overview())["links"]["entries"]
    assert entry["link"]["short_url"] == "https://go.example.com/code000"
    assert "clicks_7d" not in entry["link"]
    assert (entry["totals"], entry["totals_before"]) == (NOTHING, None)


async def test_overview_without_sites_and_links_is_empty(world):
    session = await world.session(await world.user())
    shown = (await world.call("GET", "/v1/overview", headers=session)).body["overview"]
    group = {"number": 0, "totals": NOTHING, "totals_before": None, "entries": []}
    assert (shown["as_of"], shown["sites"], shown["links"]) == (None, group, {**group, "broken": 0})


async def test_links_with_broken_targets_are_counted(place):
    account, other = place.accounts
    await place.add(account, link=2)
    await place.add(other, link=1)
    await place.world.store.run(a_broken_target("https://shop.example.com/sale", now=place.world.clock()))
    links_shown = (await place.overview())["links"]
    assert links_shown["broken"] == 3
    assert {entry["link"]["broken_targets"][0]["problem"] for entry in links_shown["entries"]} == {"http_404"}
    key = await place.world.key(place.user, "reports", allow_accounts=(OTHER_EDGE_ACCOUNT,))
    assert (await place.overview(headers=key))["links"]["broken"] == 1


async def test_as_of_is_the_oldest_of_the_last_pushes(place):
    one, other = place.accounts
    await place.push(one, 0, {}, hours=2)
    assert (await place.overview())["as_of"] == iso(place.today * DAY_MS + 2 * 3_600_000)
    await place.push(other, 1, {})
    assert (await place.overview())["as_of"] == iso(place.today * DAY_MS)


async def test_overview_has_only_what_the_caller_can_see(place):
    one, other = place.accounts
    for account in place.accounts:
        await place.add(account, site=1, link=1)
        await place.push(
            account, 0, {target: (3, 0, 2) for own in place.targets[account.id].values() for target in own}, hours=1
        )
    key = await place.world.key(place.user, "reports", "sites", "links", allow_accounts=(one.edge_account_id,))
    limited = await place.overview(headers=key)
    assert [entry["site"]["account_id"] for entry in limited["sites"]["entries"]] == [one.id]
    assert [entry["link"]["account_id"] for entry in limited["links"]["entries"]] == [one.id]
    assert (limited["sites"]["number"], limited["links"]["totals"]["views"]) == (1, 3)
    stranger = await place.world.session(await place.world.user())
    assert (await place.overview(headers=stranger))["sites"]["number"] == 0
    for noun, hidden in (("sites", "links"), ("links", "sites")):
        shown = await place.overview(headers=await place.world.key(place.user, "reports", noun))
        assert (len(shown[noun]["entries"]), shown[hidden]["entries"]) == (2, [])
        assert shown[hidden]["totals"]["views"] == 6
    no_reports = await place.world.key(place.user, "links", "sites")
    assert (await place.world.call("GET", "/v1/overview", headers=no_reports)).code == "scope_required"

    for noun in ("sites", "links"):
        [target] = place.targets[other.id][noun]
        session = await place.world.session(place.user)
        assert (await place.world.call("DELETE", f"/v1/{noun}/{target}", headers=session)).status == 200
    shown = await place.overview()
    assert (shown["sites"]["number"], shown["links"]["number"], shown["sites"]["totals"]["views"]) == (1, 1, 3)


@cases("query", ["?period=8d", "?order=clicks", "?sites=0", "?links=1001", "?sites=1&sites=2", "?q=x"])
async def test_invalid_query_is_refused(world, query):
    session = await world.session(await world.user())
    assert (await world.call("GET", f"/v1/overview{query}", headers=session)).code == "invalid_request"
