"""Tests of link imports into a real store."""

from __future__ import annotations

import pytest

from svc.actors.requests.bulk import add_wanted
from svc.clock import iso
from svc.imports.links.run import BATCH, NoAccount, Report, find_account, restriction_lines
from svc.imports.links.table import Row
from svc.imports.links.texts import Texts
from svc.model import Rule, WantedLink
from svc.store import accounts
from svc.store.link_lists import LinkFilter, list_links
from svc.store.tx import sql
from tests.imports.links.imported import imported, rows_in
from tests.store.makers import a_user, an_account

URL = "https://a.example/"


@pytest.fixture
async def account(store):
    return accounts.present(await store.read(accounts.account_by_id(await store.run(an_account()))))


async def periods_of(store, account) -> dict[str, tuple[str | None, ...]]:
    found = await store.read(list_links(LinkFilter(account.user_id)))
    return {link.code: tuple(at and iso(at) for at in (link.starts_at, link.ends_at)) for link in found}


def rows_of(*pairs: tuple[str, str]) -> list[Row]:
    return [Row(line, code, url) for line, (code, url) in enumerate(pairs, 2)]


async def codes_of(store, account) -> list[str]:
    return sorted(link.code for link in await store.read(list_links(LinkFilter(account.user_id), limit=10_000)))


@pytest.mark.rule("X2")
async def test_dry_run_reports_same_result_and_creates_nothing(store, account):
    await store.run(add_wanted(account, [WantedLink(URL, "same"), WantedLink(URL, "other")], 100, 1))
    before = await store.read(accounts.account_by_id(account.id))
    rows = rows_of(
        ("new", URL),
        ("same", URL),
        ("other", f"{URL}x"),
        ("new", URL),
        ("new", f"{URL}y"),
        ("a/b", URL),
        ("ab", URL),
        ("x" * 33, URL),
        ("", URL),
        ("plain", "http://a.example/"),
        ("loop", "https://go.example.com/x"),
        ("none", ""),
    )
    changes: list[str] = []
    with store.changes.subscribe(changes.append):
        tried, refused = await imported(store, account, rows, limit=100, now=2, apply=False)
    assert changes == []
    assert await codes_of(store, account) == ["other", "same"]
    assert await store.read(accounts.account_by_id(account.id)) == before
    assert (tried.created, tried.existing) == (1, 2)
    lines = {4: "other", 6: "new", 7: "a/b", 8: "ab", 9: "x" * 33, 10: "", 11: "plain", 12: "loop", 13: "none"}
    assert [(line, code) for line, code, _ in refused] == list(lines.items())
    reasons = {code: reason for _, code, reason in refused}
    assert reasons["other"] == "the account has another link with this code"
    assert reasons["new"] == "line 2 has the same code with another destination"
    assert reasons["loop"] == "url must not be on the link host"
    assert reasons[""] == "code is missing"
    assert "https" in reasons["plain"]

    assert await imported(store, account, rows, limit=100, now=2, apply=True) == (tried, refused)
    assert await codes_of(store, account) == ["new", "other", "same"]
    again, refused_again = await imported(store, account, rows, limit=100, now=3, apply=True)
    assert (again.created, again.existing, refused_again) == (0, 3, refused)


@pytest.mark.rule("X2")
async def test_http_destinations_can_be_changed_to_https(store, account):
    report, _ = await imported(
        store, account, rows_of(("abc", "HTTP://a.example/")), limit=9, now=1, apply=True, https=True
    )
    assert report == Report(rows=1, created=1)
    [link] = await store.read(list_links(LinkFilter(account.user_id)))
    assert link.url == "https://a.example/"


@pytest.mark.rule("X2")
async def test_import_adds_one_version_per_batch_and_stops_before_limit(store, account):
    rows = rows_of(*((f"code-{n}", URL) for n in range(2 * BATCH + 10)))
    for apply in (False, True):
        report, _ = await imported(store, account, rows, limit=2 * BATCH + 5, now=1, apply=apply)
        assert (report.created, report.unprocessed) == (2 * BATCH, 10)
        assert report.stopped.startswith(f"line {2 * BATCH + 2}: ")
    after = accounts.present(await store.read(accounts.account_by_id(account.id)))
    assert after.config_version == account.config_version + 2
    # With a higher limit, a repeated import creates only the remaining links.
    report, _ = await imported(store, account, rows, limit=5 * BATCH, now=2, apply=True)
    assert (report.created, report.existing, report.stopped) == (10, 2 * BATCH, "")
    assert len(await codes_of(store, account)) == 2 * BATCH + 10


@pytest.mark.rule("X2")
async def test_import_stops_if_account_was_removed(store, account):
    rows = rows_of(*((f"code-{n}", URL) for n in range(BATCH + 10)))
    await store.run(_one(sql("delete from link_hosts where account_id = $1", account.id)))
    report, _ = await imported(store, account, rows, limit=9_999, now=1, apply=True)
    assert (report.created, report.unprocessed) == (0, BATCH + 10)
    assert report.stopped.startswith("line 2: The account has no link host.")
    await store.run(_one(sql("delete from accounts where id = $1", account.id)))
    report, _ = await imported(store, account, rows, limit=9_999, now=1, apply=True)
    assert report.stopped.startswith("line 2: ")


def _one(statement):
    yield statement


@pytest.mark.rule("X2")
async def test_account_is_selected_by_id_or_only_account_of_user(store, account):
    rows = await store.run(_emails(account.user_id))
    email = rows[0]["email"]
    assert await find_account(store, account.id, None) == account
    assert await find_account(store, None, email.upper()) == account
    assert await find_account(store, account.id, email) == account
    stranger = await store.run(_emails(await store.run(a_user())))
    for named in ((None, None), ("acc_none", None), (None, "unknown@example.com"), (account.id, stranger[0]["email"])):
        with pytest.raises(NoAccount):
            await find_account(store, *named)
    second = await store.run(an_account(account.user_id, link_host=False))
    with pytest.raises(NoAccount, match=second):
        await find_account(store, None, email)
    with pytest.raises(NoAccount, match="no link host"):
        await find_account(store, second, None)


def _emails(user_id):
    return (yield sql("select email from users where id = $1", user_id))


@pytest.mark.rule("X2", "X4")
async def test_rules_are_read_from_json_column(store, account):
    def row(line: int, code: str, rules: str | None) -> Row:
        return Row(line, code, URL, rules)

    phones = '[{"url": "https://m.example/", "devices": ["mobile"]}]'
    rows = [
        row(2, "phones", phones),
        row(3, "none", ""),
        row(4, "empty", "[]"),
        row(5, "phones", phones),
        row(6, "phones", "[]"),
        row(7, "broken", "[{"),
        row(8, "wrong", '[{"url": "http://m.example/"}]'),
        row(9, "loop", '[{"url": "https://go.example.com/"}]'),
        row(10, "eleven", str([{"url": URL}] * 11).replace("'", '"')),
    ]
    report, refused = await imported(store, account, rows, limit=100, now=1, apply=True)
    assert (report.created, report.existing) == (3, 1)
    reasons = {line: reason for line, _, reason in refused}
    assert sorted(reasons) == [6, 7, 8, 9, 10]
    assert reasons[6] == "line 2 has the same code with other rules"
    assert reasons[7] == "rules must be a JSON list"
    assert reasons[9] == "rules.0.url must not be on the link host"
    found = {link.code: link.rules for link in await store.read(list_links(LinkFilter(account.user_id)))}
    assert found == {"phones": (Rule("https://m.example/", None, ("mobile",)),), "none": (), "empty": ()}
    # A file without the column `rules` does not change rules. Different rules in that column are an error.
    report, refused = await imported(store, account, rows_of(("phones", URL)), limit=100, now=2, apply=True)
    assert (report.existing, refused) == (1, [])
    _, refused = await imported(store, account, [row(2, "phones", "[]")], limit=100, now=2, apply=True)
    assert refused == [(2, "phones", "the account has this link with other rules")]


RESTRICTED = b"""code,url,banned,deletedAt,disabled,archived,expiresAt,validSince,maxVisits,password,status
live,https://a.example/,0,,false,f,,2020-01-01,,,active
banned,https://a.example/,1,,,,,,,,
deleted,https://a.example/,,2024-01-01T00:00:00Z,,,,,,,
disabled,https://a.example/,,,true,,,,,,
archived,https://a.example/,,,,t,,,,,
expired,https://a.example/,,,,,2020-01-01 00:00:00+00,,,,
expiring,https://a.example/,,,,,2099-01-01,,,,
scheduled,https://a.example/,,,,,,2099-01-01T00:00:00Z,,,
limited,https://a.example/,,,,,,,100,,
secret,https://a.example/,,,,,,,,$2b$12$abc,
secret-too,https://a.example/,,,,,,,,x,expired
paused,https://a.example/,,,,,,,,,Paused
unclear,https://a.example/,,,,,31.12.2099,,,,
"""
KINDS = ("banned", "deleted", "disabled", "archived", "expired", "visit-limit", "password")


@pytest.mark.rule("X2")
async def test_restricted_links_are_skipped_and_counted(store, account):
    rows = rows_in(RESTRICTED)
    for apply in (False, True):
        report, refused = await imported(store, account, rows, limit=100, now=1, apply=apply)
        counts = dict(zip(KINDS, (1, 1, 2, 1, 2, 1, 1), strict=True))
        assert (report.created, report.dated, dict(report.restricted)) == (3, 2, counts)
        assert [(line, code) for line, code, _ in refused] == [(14, "unclear")]
        assert "expiresAt is `31.12.2099`, which is not a date" in refused[0][2]
    assert await periods_of(store, account) == {
        "expiring": (None, "2099-01-01T00:00:00.000Z"),
        "live": (None, None),
        "scheduled": ("2099-01-01T00:00:00.000Z", None),
    }
    sentences = restriction_lines(report)
    assert "1 row skipped: password-protected in the other product" in sentences
    assert "2 rows skipped: expired in the other product" in sentences
    assert f"add --include {','.join(KINDS)}." in sentences[len(KINDS)]
    assert sentences[-1] == "2 rows with a future start or expiry date, which the service applies"


@pytest.mark.rule("X2")
async def test_restricted_links_are_imported_if_all_restrictions_are_included(store, account):
    rows = rows_in(RESTRICTED)
    report, refused = await imported(
        store, account, rows, limit=100, now=1, apply=True, include=("expired", "password")
    )
    periods = await periods_of(store, account)
    assert sorted(periods) == ["expired", "expiring", "live", "scheduled", "secret", "secret-too", "unclear"]
    assert periods["expired"] == periods["unclear"] == (None, None)
    assert (dict(report.included), refused) == ({"expired": 2, "password": 1}, [])
    assert (
        "1 row included: password-protected in the other product. The links work without a password here"
    ) in restriction_lines(report)
    report, _ = await imported(store, account, rows, limit=100, now=2, apply=True, include=KINDS)
    assert report.dated == 2
    assert (report.rows, report.created + report.existing, sum(report.restricted.values())) == (13, 13, 0)


@pytest.mark.rule("X2")
async def test_texts_are_imported_and_existing_links_keep_theirs(store, account):
    kept = WantedLink(URL, "kept", title="Mine", tags=("mine",))
    await store.run(add_wanted(account, [kept], 100, 1))
    rows = [
        Row(2, "kept", URL, texts=Texts("Theirs", "Note", ("theirs",))),
        Row(3, "new", URL, texts=Texts("Sale", "Flyer", ("a", "new-york"))),
        Row(4, "new", URL, texts=Texts("Another title")),
        Row(5, "long", URL, texts=Texts("x", shortened=True)),
        Row(6, "plain", URL),
    ]
    for apply in (False, True):
        report, refused = await imported(store, account, rows, limit=100, now=2, apply=apply)
        assert (report.created, report.existing, report.shortened, refused) == (3, 2, 1, [])
        assert restriction_lines(report) == ["1 row with a title, note or tags that were shortened"]
    made = {link.code: link for link in await store.read(list_links(LinkFilter(account.user_id)))}
    assert {code: (link.title, link.note, link.tags) for code, link in made.items()} == {
        "kept": ("Mine", None, ("mine",)),
        "new": ("Sale", "Flyer", ("a", "new-york")),
        "long": ("x", None, ()),
        "plain": (None, None, ()),
    }
