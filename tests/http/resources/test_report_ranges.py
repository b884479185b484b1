"""Reports over any range of days: GET /v1/{sites,links}/{id}/report with `from`, `to`, `by`, `compare` and periods."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta

import pytest

from svc.clock import DAY_MS, HOUR_MS, day_number, day_of, day_text, iso
from svc.model import Counts
from svc.store import imported_days, links, sites, totals
from svc.worker.counts import Live
from svc.worker.pushed import PushedHour, PushedPart
from tests.store.makers import new_link, new_site

pytestmark = pytest.mark.both_engines

NOTHING = {"views": 0, "bots": 0, "visitors": 0}


class Place:
    """A site and a link that were created 100 days ago, and their stored counts."""

    def __init__(self, world, user, headers, account):
        self.world, self.headers, self.account = world, headers, account
        self.today = day_of(world.clock())
        created = world.clock() - 100 * DAY_MS
        self.site = replace(new_site(user.id, account.id, "shop.example.com", created), state="active")
        self.link = new_link(user.id, account.id, "spring", created)
        self.asked = world.supervisor.asked

    async def add(self):
        await self.world.store.run(sites.add_site(self.site, 100))
        await self.world.store.run(links.add_links([self.link], 100))

    async def push(self, ago, counts, *, hours=(), final=True, refused=()):
        """Store the same counts of a day for the site and the link. `hours`: (hour, counts)."""
        day = self.today - ago
        targets = (self.site.id, self.link.id)
        rows = tuple((target, *counts) for target in targets)
        by_hour = tuple(
            PushedHour(day * DAY_MS + hour * HOUR_MS, tuple((target, *own) for target in targets))
            for hour, own in hours
        )
        as_of = (
            (day + 1) * DAY_MS if final else day * DAY_MS + (max((hour for hour, _ in hours), default=-1) + 1) * HOUR_MS
        )
        omitted = tuple(day * DAY_MS + hour * HOUR_MS for hour in refused)
        part = PushedPart(1, day, as_of, final, by_hour, omitted, rows)
        # Write to the store directly, because the service would now refuse a push for such an old day.
        await self.world.store.run(totals.ingest(self.account.id, [part], max(as_of, (day + 1) * DAY_MS)))

    async def import_days(self, days, estimates=frozenset()):
        for target, kind in ((self.site, "site"), (self.link, "link")):
            owner = imported_days.Target(
                target.id,
                self.account.id,
                self.account.user_id,
                kind,
                self.account.edge_account_id,
                name="",
                created_at=target.created_at,
            )
            await self.world.store.run(imported_days.import_days(owner, days, estimates=estimates))

    async def raw(self, query, noun="site"):
        target = self.site if noun == "site" else self.link
        return await self.world.call("GET", f"/v1/{noun}s/{target.id}/report{query}", headers=self.headers)

    async def report(self, query, noun="site"):
        response = await self.raw(query, noun)
        assert response.status == 200, response.raw
        return response.body["report"]

    async def problem(self, query):
        response = await self.raw(query)
        assert response.status == 400, response.raw
        [issue] = response.body["error"]["details"]["issues"]
        return issue["path"]

    def read(self, breakdowns, kept_from=0, days=None):
        """Set the counts that the service reads from the account's database."""
        self.world.supervisor.readable = Live(
            self.world.clock(), days or {}, {}, breakdowns, kept_from, channels={"search": 2, "direct": 1}
        )

    def day(self, ago):
        return day_text(self.today - ago)


@pytest.fixture
async def place(world):
    user, headers, account = await world.ready()
    found = Place(world, user, headers, account)
    await found.add()
    return found


# ------------------------------------------------------------------------ requests in the format of the specification


def encoded(value):
    return json.dumps(value, separators=(",", ":")).encode()


def point(at, views=0, bots=0, visitors=0):
    return {"views": views, "bots": bots, "visitors": visitors, "at": iso(at)}


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_requests_without_new_parameters_get_the_same_bytes_as_in_version_0_8_0(place, noun):
    start = place.today * DAY_MS
    await place.push(3, (10, 2, 8))
    await place.push(0, (7, 1, 5), hours=[(0, (5, 1, 4)), (1, (2, 0, 2))], final=False)
    place.read({"pages": {"/": 3}, "sources": {"google.de": 2, "": 1}}, kept_from=place.today - 5)
    live = {place.today: Counts(7, 1, 5)}
    place.world.supervisor.readable = replace(place.world.supervisor.readable, days=live)
    is_link = noun == "link"
    as_of = iso(place.world.clock() if is_link else start + 2 * HOUR_MS)
    lists = {
        "pages": [{"key": "/", "n": 3}],
        "sources": [{"key": "google.de", "n": 2}, {"key": "", "n": 1}],
        **{name: [] for name in ("countries", "devices", "browsers", "os", "bots")},
    }
    days = [point((place.today - 6 + number) * DAY_MS) for number in range(7)]
    days[3] = point((place.today - 3) * DAY_MS, 10, 2, 8)
    days[6] = point(start, 7, 1, 5)
    if is_link:  # the Worker's database no longer contains the first day, which was never pushed
        days = days[1:]
    for query, listed in (("?period=7d", False), ("?period=7d&breakdowns=1&limit=5", True)):
        wanted = {
            "period": "7d",
            "from": place.day(6),
            "to": place.day(0),
            "as_of": as_of,
            "totals": {"views": 17, "bots": 3, "visitors": 13},
            "series": days,
            "incomplete": False,
            "breakdowns": lists if listed else None,
            "breakdowns_from": place.day(5) if listed else None,
            "unavailable": None,
        }
        assert (await place.raw(query, noun)).raw == encoded({"report": wanted})
    hours = (
        [point(start + hour * HOUR_MS) for hour in range((place.world.clock() - start - 1) // HOUR_MS + 1)]
        if is_link
        else [point(start, 5, 1, 4), point(start + HOUR_MS, 2, 0, 2)]
    )
    wanted = {
        "period": "today",
        "from": place.day(0),
        "to": place.day(0),
        "as_of": as_of,
        "totals": {"views": 7, "bots": 1, "visitors": 5},
        "series": hours,
        "incomplete": False,
        "breakdowns": None,
        "breakdowns_from": None,
        "unavailable": None,
    }
    for query in ("", "?period=today"):
        assert (await place.raw(query, noun)).raw == encoded({"report": wanted})


# -------------------------------------------------------------------------------------------------------- ranges, steps


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_report_of_a_range_of_closed_days_needs_no_read_of_the_database(place, noun):
    await place.push(60, (10, 2, 8))
    await place.push(59, (1, 0, 1))
    report = await place.report(f"?from={place.day(61)}&to={place.day(58)}", noun)
    assert (report["period"], report["from"], report["to"], report["by"]) == (
        "custom",
        place.day(61),
        place.day(58),
        "day",
    )
    assert report["series"] == [
        point((place.today - ago) * DAY_MS, *counts)
        for ago, counts in ((61, ()), (60, (10, 2, 8)), (59, (1, 0, 1)), (58, ()))
    ]
    assert report["totals"] == {"views": 11, "bots": 2, "visitors": 9}
    assert report["incomplete"] is False
    assert "comparison" not in report
    assert place.asked == []


async def test_weeks_begin_on_monday_and_months_on_the_first(place):
    counted = {ago: (ago, 1, 1) for ago in range(90)}
    for ago, counts in counted.items():
        await place.push(ago, counts, final=ago > 0)
    first = place.today - 89
    for by in ("week", "month"):
        report = await place.report(f"?from={day_text(first)}&by={by}")
        wanted: dict[int, list[int]] = {}
        for ago in range(89, -1, -1):
            day = date.fromisoformat(place.day(ago))
            start = day - timedelta(day.weekday()) if by == "week" else day.replace(day=1)
            wanted.setdefault(max(first, day_number(start.isoformat())), []).append(ago)
        assert report["series"] == [
            point(day * DAY_MS, sum(agos), len(agos), len(agos)) for day, agos in wanted.items()
        ], by
        assert report["totals"] == {"views": sum(range(90)), "bots": 90, "visitors": 90}


async def test_all_begins_with_the_first_imported_day_or_the_creation(place):
    assert (await place.report("?period=all"))["from"] == place.day(100)
    await place.import_days({place.today - 500: Counts(7, 0, 3)})
    for noun in ("site", "link"):
        report = await place.report("?period=all&by=month", noun)
        assert (report["period"], report["from"], report["to"]) == ("all", place.day(500), place.day(0))
        assert report["totals"] == {"views": 7, "bots": 0, "visitors": 3}
        assert report["series"][0] == point((place.today - 500) * DAY_MS, 7, 0, 3)
    assert (await place.report(f"?to={place.day(499)}"))["from"] == place.day(500)


async def test_points_with_estimates_are_marked(place):
    """Every point that contains a day with an estimate is marked. This includes the points of the comparison, and of
    reports in the format of the specification.
    """
    today = date.fromisoformat(place.day(0))
    days = {place.today - ago: Counts(3) for ago in (101, 103, 104, 140)}
    await place.import_days(days, {place.today - 103, place.today - 140})

    def marked(series):
        assert all(each.get("estimated", True) is True for each in series)
        return [each["at"][:10] for each in series if "estimated" in each]

    for noun in ("site", "link"):
        report = await place.report(f"?from={place.day(150)}&to={place.day(95)}&by=day", noun)
        assert marked(report["series"]) == [place.day(140), place.day(103)]
        for by in ("week", "month"):
            starts = set()
            for ago in (140, 103):
                day = today - timedelta(ago)
                start = day - timedelta(day.weekday()) if by == "week" else day.replace(day=1)
                starts.add(max(start.isoformat(), place.day(150)))
            report = await place.report(f"?from={place.day(150)}&to={place.day(95)}&by={by}", noun)
            assert marked(report["series"]) == sorted(starts)
        report = await place.report(f"?from={place.day(94)}&to={place.day(80)}&by=day&compare=previous", noun)
        assert (marked(report["series"]), marked(report["comparison"]["series"])) == ([], [place.day(103)])
        report = await place.report("?from=" + place.day(103) + f"&to={place.day(103)}&by=day", noun)
        assert marked(report["series"]) == [place.day(103)]
        assert marked((await place.report("?period=30d", noun))["series"]) == []


async def test_link_report_of_today_reads_the_database_once(place):
    await place.push(1, (3, 0, 2))
    place.read({}, days={place.today: Counts(5, 0, 4)})
    two_years = f"?from={place.day(729)}&to={place.day(0)}&breakdowns=1&statement=1&compare=year"
    for query in (
        "?period=month",
        "?period=12mo&by=day",
        "?period=all&by=week",
        "?period=7d&compare=previous",
        two_years,
    ):
        place.asked.clear()
        report = await place.report(query, "link")
        assert report["totals"]["views"] >= 5
        assert len(place.asked) == 1, query


async def test_hours_of_a_range(place):
    for ago in (3, 2):
        await place.push(ago, (6, 0, 5), hours=[(4, (2, 0, 2)), (23, (4, 0, 4))])
    await place.push(1, (1, 0, 1), hours=[(0, (1, 0, 1))], final=False)
    report = await place.report(f"?from={place.day(3)}&to={place.day(1)}&by=hour")
    assert len(report["series"]) == 49, "the worker has not sent the rest of the last day"
    views = {entry["at"]: entry["views"] for entry in report["series"] if entry["views"]}
    assert views == {
        iso((place.today - ago) * DAY_MS + hour * HOUR_MS): n
        for ago, hour, n in ((3, 4, 2), (3, 23, 4), (2, 4, 2), (2, 23, 4), (1, 0, 1))
    }
    assert report["incomplete"] is False


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_missing_hours_make_a_report_by_hour_incomplete(place, noun):
    await place.push(2, (9, 0, 9), hours=[(0, (1, 0, 1))], refused=[1])
    await place.push(1, (1, 0, 1), hours=[(0, (1, 0, 1))])
    day = f"from={place.day(2)}&to={place.day(2)}"
    assert (await place.report(f"?{day}&by=hour", noun))["incomplete"] is True
    assert (await place.report(f"?{day}&by=day", noun))["incomplete"] is False
    assert (await place.report("?period=yesterday", noun))["incomplete"] is False


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_omitted_hours_of_a_day_that_is_not_complete_make_a_report_by_hour_incomplete(place, noun):
    await place.push(1, (3, 0, 1), hours=[(0, (1, 0, 1))], refused=[1], final=False)
    place.read({}, days={place.today - 1: Counts(3, 0, 1)})
    assert (await place.report("?period=yesterday", noun))["incomplete"] is True


# ----------------------------------------------------------------------------------------------------------- comparison


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_comparison_with_the_period_before_and_the_year_before(place, noun):
    year_ago = date.fromisoformat(place.day(0))
    year_ago = year_ago.replace(year=year_ago.year - 1)
    await place.push(8, (5, 1, 4))
    await place.push(2, (2, 0, 2))
    await place.import_days({day_number(year_ago.isoformat()) - 6: Counts(9, 0, 3)})
    place.read({})
    report = await place.report("?period=7d&compare=previous", noun)
    comparison = report["comparison"]
    assert (comparison["from"], comparison["to"]) == (place.day(13), place.day(7))
    assert comparison["totals"] == {"views": 5, "bots": 1, "visitors": 4}
    assert [each["views"] for each in comparison["series"]] == [0, 0, 0, 0, 0, 5, 0]
    assert report["totals"]["views"] == 2
    comparison = (await place.report("?period=7d&compare=year&by=week", noun))["comparison"]
    assert (comparison["from"], comparison["to"]) == (
        (year_ago - timedelta(6)).isoformat(),
        year_ago.isoformat(),
    )
    assert comparison["totals"] == {"views": 9, "bots": 0, "visitors": 3}
    assert sum(each["views"] for each in comparison["series"]) == 9


async def test_comparison_has_only_hours_that_are_stored(place):
    await place.push(1, (2, 0, 2), hours=[(7, (2, 0, 2))])
    await place.push(0, (1, 0, 1), hours=[(0, (1, 0, 1))], final=False)
    yesterday = (await place.report("?period=today&compare=previous"))["comparison"]
    assert [each["views"] for each in yesterday["series"]] == [0] * 7 + [2] + [0] * 16
    year = (await place.report("?period=today&compare=year"))["comparison"]
    assert (year["series"], year["totals"]) == ([], NOTHING)


async def test_comparison_of_a_link_includes_days_that_the_worker_has_not_sent(place):
    place.read({"sources": {"": 3}}, days={place.today - 1: Counts(4, 0, 4), place.today: Counts(1, 0, 1)})
    report = await place.report("?period=today&compare=previous&breakdowns=1", "link")
    assert report["comparison"]["totals"]["views"] == 4
    assert report["totals"]["views"] == 1
    assert len(place.asked) == 1


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_report_names_the_days_without_breakdowns(place, noun):
    place.read({"pages": {"/": 3}}, kept_from=place.today - 20)
    query = f"?from={place.day(30)}&breakdowns=1"
    report = await place.report(query, noun)
    assert report["breakdowns"]["pages"] == [{"key": "/", "n": 3}]
    assert report["breakdowns"]["channels"] == [{"key": "search", "n": 2}, {"key": "direct", "n": 1}]
    assert report["breakdowns_from"] == place.day(20)
    assert report["breakdowns_missing"] == [{"from": place.day(30), "to": place.day(21), "reason": "not_kept"}]
    await place.import_days({place.today - 200: Counts(7, 0, 3), place.today - 150: Counts(1, 0, 1)})
    assert (await place.report("?period=all&breakdowns=1", noun))["breakdowns_missing"] == [
        {"from": place.day(200), "to": place.day(150), "reason": "imported"},
        {"from": place.day(100), "to": place.day(21), "reason": "not_kept"},
    ]
    assert (await place.report(f"?from={place.day(20)}&breakdowns=1", noun))["breakdowns_missing"] == []
    assert "breakdowns_missing" not in await place.report("?period=30d&breakdowns=1", noun)
    assert "breakdowns_missing" not in await place.report("?period=month", noun)


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_only_imported_months_have_breakdowns_of_imported_days(place, noun):
    place.read({"pages": {"/": 3}}, kept_from=place.today - 20)
    await place.import_days({place.today - 200: Counts(7, 0, 3), place.today - 150: Counts(1, 0, 1)})
    later = {"from": place.day(100), "to": place.day(21), "reason": "not_kept"}
    added_up, imported = (place.today - 210, place.today - 181), (place.today - 180, place.today - 140)
    for imported_months, until in (((), 150), ((imported,), 181)):
        place.world.supervisor.readable = replace(
            place.world.supervisor.readable, months=(added_up, imported), imported_months=imported_months
        )
        assert (await place.report("?period=all&breakdowns=1", noun))["breakdowns_missing"] == [
            {"from": place.day(200), "to": place.day(until), "reason": "imported"},
            later,
        ]


async def test_report_names_the_days_without_lists_of_an_older_worker(place):
    for unlisted, missing in (
        ((), []),
        (
            (9, 4),
            [{"from": place.day(9), "to": place.day(4), "reason": "not_counted", "lists": ["campaigns", "targets"]}],
        ),
    ):
        place.read({"pages": {"/": 3}, "campaigns": {"mail": 2}, "targets": {}}, kept_from=place.today - 35)
        place.world.supervisor.readable = replace(
            place.world.supervisor.readable,
            visit_lists=("campaigns", "targets"),
            unlisted_days=frozenset(place.today - ago for ago in unlisted),
        )
        report = await place.report(f"?from={place.day(20)}&breakdowns=1", "link")
        assert report["breakdowns_missing"] == missing
        assert report["breakdowns"]["campaigns"] == [{"key": "mail", "n": 2}]
        assert report["breakdowns"]["targets"] == []


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_days_that_no_worker_keeps_cost_no_read(place, noun):
    report = await place.report(f"?from={place.day(90)}&to={place.day(50)}&breakdowns=1", noun)
    assert (report["breakdowns"], report["breakdowns_from"], report["unavailable"]) == (None, None, None)
    assert report["breakdowns_missing"] == [{"from": place.day(90), "to": place.day(50), "reason": "not_kept"}]
    assert place.asked == []


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_range_before_the_kept_days_has_no_breakdowns(place, noun):
    place.read({}, kept_from=place.today - 14)
    report = await place.report(f"?from={place.day(30)}&to={place.day(15)}&breakdowns=1", noun)
    assert (report["breakdowns"], report["breakdowns_from"]) == (None, None)
    assert report["breakdowns_missing"] == [{"from": place.day(30), "to": place.day(15), "reason": "not_kept"}]


@pytest.mark.parametrize("noun", ["site", "link"])
async def test_failed_read_is_the_reason_for_all_days(place, noun):
    report = await place.report("?period=month&breakdowns=1", noun)
    assert (report["breakdowns"], report["unavailable"]) == (None, "not_installed")
    assert report["breakdowns_missing"] == [{"from": report["from"], "to": place.day(0), "reason": "not_installed"}]


# ------------------------------------------------------------------------------------------------------------- problems


async def test_problems_name_the_parameter(place):
    assert await place.problem(f"?from={place.day(1)}&to={place.day(2)}") == "to"
    assert await place.problem(f"?from={place.day(-1)}") == "from"
    assert await place.problem(f"?period=7d&from={place.day(1)}") == "period"
    assert await place.problem("?period=year&by=hour") == "by"
    assert await place.problem("?from=0001-01-01") == "from"
    assert await place.problem("?period=all&compare=year") == "compare"
    assert await place.problem("?from=2026-02-30") == "from"
    assert await place.problem("?by=minute") == "by"
    assert await place.problem("?period=2mo") == "period"
