"""Tests that frequent reads use indexes, according to SQLite's query plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.http.resources.reports import _stored
from svc.http.resources.spans import span_of
from svc.store import (
    accounts,
    alerts,
    broken_targets,
    disabled_objects,
    events,
    exports,
    links,
    mailing_schedule,
    mailings,
    moderation,
    notes,
    open_store,
    recipients,
    retention,
    shares,
    sites,
    tags,
    target_checks,
    worker_keys,
)
from svc.store.link_lists import LinkFilter, clicks_7d, list_links, listed, ranked_by_clicks
from svc.store.report_periods import due_day, period_due
from svc.store.site_lists import list_sites, series_7d
from svc.store.tx import Statement, sql
from tests.clock import START_MS
from tests.databases import sqlite_config
from tests.store.makers import a_link, a_site, an_account, owner_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc.store.tx import Tx

TODAY = day_of(START_MS)
# Tables that grow with the number of accounts.
LARGE = (
    "hours",
    "days",
    "sites",
    "links",
    "accounts",
    "worker_keys",
    "final_days",
    "refused_hours",
    "pushed",
    "events",
    "notes",
    "shares",
    "mailings",
    "mailing_recipients",
    "mailing_tokens",
    "alert_states",
    "target_checks",
    "link_targets",
)
ALIASES = ("s", "t", "d", "e", "m", "r", "k", "f", "b", "c", "l", "p", "a", "u")


def explained(tx: Tx[Any], plans: list[str]) -> Tx[Any]:
    """Run the transaction, and append the lines of the query plans of its statements to `plans`."""
    try:
        step = next(tx)
        while True:
            rows = []
            if isinstance(step, Statement):
                plan = yield sql(f"explain query plan {step.text}", *step.runs[0])
                plans += [row["detail"] for row in plan]
            rows = yield step
            step = tx.send(rows)
    except StopIteration as done:
        return done.value


READS: dict[str, Callable[[int, str, str, str], Tx[Any]]] = {
    "a site": lambda user, account, site, link: sites.get_site(user, site),
    "a link": lambda user, account, site, link: links.get_link(user, link),
    "disabled codes": lambda user, account, site, link: disabled_objects.disabled_codes(account, ["a", "b"]),
    "a disabled host": lambda user, account, site, link: disabled_objects.disabled_host(account, "a.example"),
    "sites by host": lambda user, account, site, link: moderation.sites_at("a.example"),
    "links by short URL": lambda user, account, site, link: moderation.links_at("go.example.com", "a"),
    "an account": lambda user, account, site, link: accounts.get_account(user, account),
    "the key of a push": lambda user, account, site, link: worker_keys.account_of_worker_key("digest", START_MS),
    "sites": lambda user, account, site, link: list_sites(user),
    "views_7d": lambda user, account, site, link: series_7d([site], TODAY),
    "links": lambda user, account, site, link: list_links(LinkFilter(user)),
    "links by code": lambda user, account, site, link: list_links(LinkFilter(user), "code"),
    "clicks_7d": lambda user, account, site, link: clicks_7d([link], TODAY),
    "links by clicks": lambda user, account, site, link: ranked_by_clicks(LinkFilter(user), TODAY),
    "links with a tag": lambda user, account, site, link: list_links(LinkFilter(user, tag="x"), "code"),
    "links with a title": lambda user, account, site, link: list_links(LinkFilter(user, title_contains="x")),
    "tags": lambda user, account, site, link: tags.list_tags(LinkFilter(user), TODAY),
    "the links with a tag": lambda user, account, site, link: tags.tagged(LinkFilter(user, tag="x")),
    "the first day of a tag": lambda user, account, site, link: tags.first_day(LinkFilter(user, tag="x")),
    "the days of a tag": lambda user, account, site, link: tags.day_sums(LinkFilter(user, tag="x"), TODAY, TODAY),
    "the hours of a tag": lambda user, account, site, link: tags.hour_sums(LinkFilter(user, tag="x"), 0, START_MS),
    "a page by clicks": lambda user, account, site, link: listed(LinkFilter(user), [link]),
    "notes": lambda user, account, site, link: notes.list_notes([account, site], TODAY, TODAY, 9, (1, 1, "")),
    "a note": lambda user, account, site, link: notes.get_note(user, "note"),
    "an available share": lambda user, account, site, link: shares.available_share("digest", TODAY),
    "a site of a shared account": lambda user, account, site, link: shares.available_site(account, site),
    "shares": lambda user, account, site, link: shares.list_shares(site),
    "totals of an account's sites": lambda user, account, site, link: shares.site_totals(account, TODAY, TODAY),
    "the first day of an account": lambda user, account, site, link: shares.first_day_of_sites(account),
    "email reports": lambda user, account, site, link: mailings.get_mailing(user, site),
    "email reports of an export": lambda user, account, site, link: mailings.mailings_page(user, START_MS),
    "a recipient": lambda user, account, site, link: recipients.subscription_of_token("digest"),
    "sites with hours to check": lambda user, account, site, link: alerts.due("", 9),
    "hours to compare": lambda user, account, site, link: alerts.views_in_hours([site], [START_MS, START_MS + HOUR_MS]),
    "hours of a site": lambda user, account, site, link: alerts.views_between(site, START_MS, START_MS + DAY_MS),
    "recipients of alerts": lambda user, account, site, link: alerts.recipients(site, account),
    "email reports that are due": lambda user, account, site, link: mailing_schedule.due(
        period_due("weekly", due_day("weekly", TODAY)), START_MS, 9
    ),
    "links with broken targets": lambda user, account, site, link: list_links(LinkFilter(user, broken=True)),
    "their number": lambda user, account, site, link: broken_targets.count_links(user),
    "broken targets of links": lambda user, account, site, link: broken_targets.still_broken([(link, "digest")]),
    "targets that are due": lambda user, account, site, link: target_checks.due(START_MS, 9),
    "targets with a wrong time": lambda user, account, site, link: target_checks.has_wrong_times(START_MS),
    "events": lambda user, account, site, link: events.page(user, "newest", None, 100),
    "events of an account": lambda user, account, site, link: events.page(user, "oldest", 1, 100, ["e"], own=False),
    "events of an export": lambda user, account, site, link: exports.events_page(user, START_MS),
}


@pytest.mark.rule("X15", "R1")
@pytest.mark.parametrize("what", READS)
async def test_frequent_reads_scan_no_large_table(tmp_path: Path, what: str) -> None:
    async with open_store(sqlite_config(tmp_path)) as store:
        account_id = await store.run(an_account())
        site_id, link_id = await store.run(a_site(account_id)), await store.run(a_link(account_id))
        user_id = await store.read(owner_of(account_id))
        plans: list[str] = []
        await store.read(explained(READS[what](user_id, account_id, site_id, link_id), plans))
    assert any(line.startswith("SEARCH") for line in plans)
    assert not scans(plans), plans


def scans(plans: list[str]) -> list[str]:
    """Return the lines of plans that scan one of the `LARGE` tables. Ignore scans of a subquery's results."""
    found = {line.split()[1] for line in plans if line.startswith(("CO-ROUTINE", "MATERIALIZE"))}
    return [line for line in plans if line.startswith("SCAN") and line.split()[1] in {*LARGE, *ALIASES} - found]


@pytest.mark.rule("R1")
async def test_report_scans_no_large_table(tmp_path: Path) -> None:
    async with open_store(sqlite_config(tmp_path)) as store:
        account_id = await store.run(an_account())
        site_id = await store.run(a_site(account_id))
        account = await store.read(accounts.account_by_id(account_id))
        assert account is not None
        plans: list[str] = []
        await store.read(explained(_stored(site_id, account, START_MS, span_of("30d", START_MS)), plans))
    assert len(plans) >= 5
    assert not scans(plans), plans


@pytest.mark.rule("X4")
@pytest.mark.parametrize("page", [exports.sites_page, exports.links_page])
async def test_export_page_reads_rows_in_index_order(tmp_path: Path, page: Callable[..., Tx[Any]]) -> None:
    async with open_store(sqlite_config(tmp_path)) as store:
        account_id = await store.run(an_account())
        user_id = await store.read(owner_of(account_id))
        plans: list[str] = []
        await store.read(explained(page(user_id, START_MS), plans))
    searches = [line for line in plans if line.startswith(("SEARCH sites", "SEARCH links"))]
    assert searches, plans
    assert all("created_at" in line for line in searches), plans
    assert not scans(plans), plans


@pytest.mark.parametrize(
    "delete",
    [retention.delete_hours, retention.delete_refused_hours, retention.delete_final_days, retention.delete_events],
)
async def test_retention_finds_old_rows_by_index(tmp_path: Path, delete: Callable[[int], Tx[int]]) -> None:
    async with open_store(sqlite_config(tmp_path)) as store:
        plans: list[str] = []
        assert await store.run(explained(delete(START_MS - 40 * DAY_MS), plans)) == 0
    assert any("INDEX" in line and "age" in line for line in plans), plans
    assert not scans(plans), plans


async def test_links_to_check_and_users_to_notify_have_their_own_indexes(tmp_path: Path) -> None:
    """The service reads these indexes as a whole, because they contain only rows that need work."""
    async with open_store(sqlite_config(tmp_path)) as store:
        plans: list[str] = []
        await store.read(explained(target_checks.has_unlisted(START_MS), plans))
        await store.read(explained(broken_targets.users_to_notify(TODAY), plans))
    scanned = [line for line in plans if line.startswith("SCAN")]
    assert len(scanned) == 2
    assert "links_unlisted" in scanned[0]
    assert "link_targets_broken" in scanned[1]
