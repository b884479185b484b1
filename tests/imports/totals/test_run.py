"""Tests of imports of totals into a real store."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from svc.clock import day_number, day_of, day_text
from svc.commands.imports import result_lines
from svc.imports.totals.formats import read_totals
from svc.imports.totals.run import Done, NoTarget, Report, import_totals
from svc.imports.totals.source import open_source
from svc.imports.totals.tally import Name, tally
from svc.model import Counts
from svc.store import accounts, notes, sites, totals
from svc.store.imported_days import Compared
from svc.store.tx import sql
from tests.clock import START_MS
from tests.imports.totals.files import DASHBOARD, OWN
from tests.store.makers import a_link, a_site, an_account, owner_of

pytestmark = pytest.mark.rule("X4")

TODAY = day_of(START_MS)
HOST = "shop.example.com"
SITE, LINK = Name("site", HOST), Name("link", "sale26")


def day(ago: int) -> str:
    return day_text(TODAY - ago)


@pytest.fixture
async def account(store):
    return accounts.present(await store.read(accounts.account_by_id(await store.run(an_account()))))


@pytest.fixture
async def site(store, account):
    return await store.run(a_site(account.id))


@dataclass
class FullReport(Report):
    """A report that also keeps the result for each target."""

    done: list[Done] = field(default_factory=list)


@pytest.fixture
def run_import(store, account, tmp_path):
    async def run(text: str, named: Name | None = None, **options: object) -> FullReport:
        path = tmp_path / "export"
        path.write_text(text)
        with path.open("rb") as file, open_source(file) as source, tally(TODAY) as read:
            read_totals(source, read)
            arguments = {"account_id": account.id, "email": None, "apply": True, "now": START_MS, **options}
            done: list[Done] = []
            report = await import_totals(store, read, named=named, done=done.append, **arguments)
        assert report.added == sum(len(one.compared.added) for one in done)
        return FullReport(**vars(report), done=done)

    return run


async def days_of(store, target: str) -> dict[str, int]:
    days = await store.read(totals.day_counts(target, 0, TODAY + 10))
    return {day_text(number): counts.views for number, (counts, _, _) in sorted(days.items())}


async def test_dry_run_reports_same_result_and_writes_nothing(store, account, site, run_import):
    link = await store.run(a_link(account.id))
    text = f"day,views\n{day(2)},5\n{day(0)},7\n{day(1)},6\n"
    for named, target in ((SITE, site), (LINK, link)):
        changes: list[str] = []
        with store.changes.subscribe(changes.append):
            tried = await run_import(text, named, apply=False)
            assert await days_of(store, target) == {}
            done = await run_import(text, named)
        assert done == tried
        assert changes == []
        [one] = done.done
        assert (one.target.id, one.compared) == (target, Compared((TODAY - 2, TODAY - 1), own=(TODAY,)))
        assert await days_of(store, target) == {day(2): 5, day(1): 6}
        again = (await run_import(text, named)).done[0].compared
        assert again == Compared(same=(TODAY - 2, TODAY - 1), own=(TODAY,))
    assert result_lines(one, apply=False, replace=False) == [
        f"sale26 (link {link}): 2 days to import, {day(2)} to {day(1)}, with 11 views",
        f"  1 day ({day(0)}) skipped: counted by this service since {day(0)}",
    ]


async def test_different_numbers_are_replaced_only_with_option(store, site, run_import):
    await run_import(f"day,views\n{day(1)},5\n", SITE)
    kept = await run_import(f"day,views\n{day(1)},6\n{day(2)},7\n", SITE)
    assert await days_of(store, site) == {day(2): 7, day(1): 5}
    [_, line] = result_lines(kept.done[0], apply=True, replace=False)
    assert line == f"  1 day ({day(1)}) with different numbers: not changed; use --replace to overwrite them"
    replaced = await run_import(f"day,views\n{day(1)},6\n", SITE, replace=True)
    assert await days_of(store, site) == {day(2): 7, day(1): 6}
    assert result_lines(replaced.done[0], apply=True, replace=True)[1].endswith("with different numbers: replaced")


def own_row(account, name: str, ago: int, views: int, kind: str = "site", target: str = "site_elsewhere") -> str:
    return f"{target},{kind},{account.edge_account_id},{name},{day(ago)},{views},1,2,1,0\n"


async def test_own_export_finds_targets_by_account_and_name(store, account, site, run_import):
    second = accounts.present(
        await store.read(accounts.account_by_id(await store.run(an_account(account.user_id, link_host=False))))
    )
    other_site, link = await store.run(a_site(second.id)), await store.run(a_link(account.id))
    text = OWN + own_row(account, HOST, 1, 5) + own_row(second, HOST, 1, 6) + own_row(account, "gone.example.com", 1, 9)
    text += own_row(account, "sale26", 3, 7, "link") + own_row(second, "sale26", 3, 8, "link")
    email = (await store.run(_email(account.user_id)))[0]["email"]
    report = await run_import(text, account_id=None, email=email)
    assert await days_of(store, site) == {day(1): 5}
    assert await days_of(store, other_site) == {day(1): 6}
    assert await days_of(store, link) == {day(3): 7}
    assert sorted(report.missing) == sorted(
        [
            (Name("site", "gone.example.com", account.edge_account_id), 1),
            (Name("link", "sale26", second.edge_account_id), 1),
        ]
    )
    assert (await store.read(totals.day_counts(site, 0, TODAY)))[TODAY - 1][0] == Counts(5, 1, 2)


async def test_days_of_several_sites_with_one_host_are_summed(store, account, site, run_import):
    """Days of an earlier site of this service are not added, because they are already stored for that site."""
    deleted = site
    await store.run(sites.delete_site(account.id, deleted))
    again = await store.run(a_site(account.id))
    rows = [("site_a", 3, 5), ("site_a", 2, 1), ("site_b", 2, 4), (deleted, 1, 90), (again, 0, 80)]
    text = OWN + "".join(own_row(account, HOST, ago, views, target=target) for target, ago, views in rows)
    [done] = (await run_import(text)).done
    assert await days_of(store, again) == {day(3): 5, day(2): 5}
    assert await days_of(store, deleted) == {}
    assert done.compared.own == (TODAY,)
    assert done.elsewhere == 1
    lines = result_lines(done, apply=True, replace=False)
    assert lines[-2] == "  1 day skipped: stored under earlier sites with this name"
    assert lines[-1] == "  3 targets in the file have this name; their daily totals were added up"


async def test_days_of_a_site_of_another_user_are_added(store, account, site, run_import):
    """The site may have moved from a Cloudflare account that the other user connected earlier."""
    foreign = await store.run(a_site(await store.run(an_account())))
    [done] = (await run_import(OWN + own_row(account, HOST, 3, 5, target=foreign))).done
    assert await days_of(store, site) == {day(3): 5}
    assert (done.compared.added, done.elsewhere) == ((TODAY - 3,), 0)


async def test_ambiguous_target_stops_import_before_any_write(store, account, site, run_import):
    own = OWN + own_row(account, HOST, 1, 5)
    plain = f"day,views\n{day(1)},5\n"
    for text, named, options, why in (
        (plain, SITE, {"account_id": None}, "select the user with --user"),
        (plain, SITE, {"account_id": "acc_none"}, "no such account"),
        (plain, SITE, {"account_id": None, "email": "unknown@example.com"}, "no such account"),
        (plain, None, {}, "does not name a site or link"),
        (own, SITE, {}, "leave out --site and --link"),
        (plain, LINK, {}, "these accounts have no link sale26"),
    ):
        with pytest.raises(NoTarget, match=why):
            await run_import(text, named, **options)
    await store.run(a_site(await store.run(an_account(account.user_id))))
    email = (await store.run(_email(await store.run(owner_of(account.id)))))[0]["email"]
    with pytest.raises(NoTarget, match=f"select one with --account: .*{account.id}"):
        await run_import(plain, SITE, account_id=None, email=email)
    # If one of the names in a file is ambiguous, nothing is imported.
    unclear = own_row(account, HOST, 1, 5).replace(account.edge_account_id, "")
    with pytest.raises(NoTarget):
        await run_import(own + unclear, account_id=None, email=email)
    assert await days_of(store, site) == {}
    assert (await run_import(plain, SITE, account_id=account.id, email=email)).done[0].compared.added == (TODAY - 1,)


async def test_empty_table_adds_nothing(site, run_import):
    assert await run_import("day,views\n", SITE) == FullReport()


async def test_fifty_years_are_imported_in_one_run(store, site, run_import):
    rows = "".join(f"{day(ago)},{ago}\n" for ago in range(1, TODAY - day_number("1976-01-01")))
    assert len((await run_import(f"day,views\n{rows}", SITE)).done[0].compared.added) > 18_000
    assert (await days_of(store, site))[day(18_000)] == 18_000


def _email(user_id):
    return (yield sql("select email from users where id = $1", user_id))


async def test_import_writes_a_note_on_the_last_imported_day(store, account, site, run_import):
    text = f"{DASHBOARD}{day(9)},1,2,1,2,0,1\r\n{day(8)},1,2,1,2,0,1\r\n"
    await run_import(text, SITE, apply=False)
    assert await store.read(notes.list_notes([site], 0, TODAY, 10)) == []
    for _ in range(2):
        await run_import(text, SITE)
        [note] = await store.read(notes.list_notes([site], 0, TODAY, 10))
        assert (note.kind, note.day, note.facts) == ("imported", TODAY - 8, {"until": day(8)})
