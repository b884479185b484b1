"""The export is complete and contains no secrets or other users' data. Its links can be imported again."""

from __future__ import annotations

import csv
import gc
import io
import json
from random import Random
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest
import trio

from svc.api import accounts as api_accounts
from svc.api import export as api
from svc.api import links as api_links
from svc.api import me as api_me
from svc.api import sites as api_sites
from svc.clock import DAY_MS, day_of, day_text, iso
from svc.http.resources.export import _GROUP, _LARGE_FROM, _ROWS
from svc.model import Counts, Rule
from svc.store import accounts, links, open_store, sites
from svc.store.exports import PAGE
from svc.store.link_lists import LinkFilter, list_links
from svc.store.tx import many, sql
from tests.clock import START_MS
from tests.databases import sqlite_config
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT, open_world
from tests.http.resources.test_totals import SMALL_BYTES, half_read, one, pushed, stored_days
from tests.http.serving.test_refusals import is_error
from tests.http.serving.test_sockets import head, response_of, served
from tests.imports.links.imported import imported, rows_in
from tests.store.makers import a_link, a_site, an_account, new_link, new_site

if TYPE_CHECKING:
    from svc.model import Account, LinkChange, User
    from tests.http.conftest import World

pytestmark = pytest.mark.both_engines

TODAY = day_of(START_MS)
FILES = [
    "README.txt",
    "user.json",
    "accounts.json",
    "sites.json",
    "links.json",
    "notes.json",
    "shares.json",
    "mailings.json",
    "sites.csv",
    "links.csv",
    "daily_totals.csv",
    "hourly_totals.csv",
    "events.csv",
]
RULES = (Rule("https://example.com/de?a=1,2;'3'", ("DE", "AT"), ("mobile",)), Rule("https://example.com/x"))

TEXTS: LinkChange = {"title": '=Sale, "50 %"', "note": "two\nlines", "tags": ("spring", "例")}


async def export(world: World, headers: dict[str, str]) -> dict[str, bytes]:
    """Request an export, and return its files by name."""
    response = await world.call("GET", "/v1/export", headers=headers)
    assert (response.status, response.headers["Content-Type"]) == (200, "application/zip")
    name = f"svc-export-{day_text(day_of(world.clock()))}.zip"
    assert response.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response.headers["Cache-Control"] == "no-store"
    with ZipFile(io.BytesIO(response.raw)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == FILES
        return {name: archive.read(name) for name in FILES}


def rows_of(raw: bytes) -> list[dict[str, str]]:
    text = raw.decode()
    assert text.endswith("\r\n")
    unquoted = "".join(text.split('"')[::2])
    assert unquoted.count("\n") == unquoted.count("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


async def a_full_user(world: World) -> tuple[User, Account, Account]:
    """Create a user with all kinds of exported data and two accounts. The second account is disconnected."""
    user = await world.user()
    first = await world.account(user, EDGE_ACCOUNT, link_host="go.example.com")
    second = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="to.example.net")
    session = await world.session(user)
    store = world.store
    site = await store.run(a_site(first.id, "shop.example.com"))
    gone = await store.run(a_site(first.id, "old.example.com"))
    link = (await store.run(links.add_link(new_link(user.id, first.id, "-rule_1"), 100))).id
    await store.run(links.change_link(first.id, link, {"rules": RULES, **TEXTS}))
    deleted = await store.run(a_link(first.id, "sale26"))
    former = await store.run(a_link(second.id, "sale26"))
    for account, target in ((first, site), (first, gone), (first, link), (first, deleted), (second, former)):
        await store.run(pushed(account.id, TODAY - 1, target, {4: Counts(5, 1, 2), 7: Counts(3, 0, 3)}))
    await store.run(pushed(first.id, TODAY, site, {0: Counts(1, 1, 1)}, final=False))
    await store.run(stored_days(site, range(TODAY - 50, TODAY - 48), imported=1))
    await store.run(sites.delete_site(first.id, gone))
    await store.run(links.delete_link(first.id, deleted, START_MS))
    assert (await world.call("DELETE", f"/v1/accounts/{second.id}", headers=session, json={})).status == 200
    return user, first, second


@pytest.mark.rule("X4")
def test_every_field_that_a_user_can_set_is_exported():
    for change, exported in (
        (api_accounts.AccountChange, api.Account),
        (api_sites.SiteChange, api.Site),
        (api_links.LinkChange, api.Link),
        (api_me.ChangeMe, api.User),
    ):
        assert set(change.model_fields) <= set(exported.model_fields)


@pytest.mark.rule("X4", "S6", "L3")
async def test_export_has_all_data(world):
    user, first, second = await a_full_user(world)
    session = await world.session(user)
    paid = {"plan": "paid", "days_kept": 21, "months_kept": 18}
    assert (await world.call("PATCH", f"/v1/accounts/{first.id}", headers=session, json=paid)).status == 200
    assert (await world.call("PATCH", "/v1/me", headers=session, json={"language": "de"})).status == 200
    files = await export(world, session)
    assert user.email in files["README.txt"].decode()
    of_user = json.loads(files["user.json"])
    assert (of_user["id"], of_user["email"], of_user["exported_at"]) == (user.id, user.email, iso(START_MS))
    assert of_user["language"] == "de"
    connected, former = json.loads(files["accounts.json"])
    assert (connected["id"], connected["edge_account_id"]) == (first.id, EDGE_ACCOUNT)
    assert (connected["state"], connected["plan"], connected["link_host"]) == ("ready", "paid", "go.example.com")
    assert (connected["days_kept"], connected["months_kept"]) == (21, 18)
    assert (former["id"], former["edge_account_id"]) == (second.id, OTHER_EDGE_ACCOUNT)
    assert former["disconnected_at"] == iso(START_MS)

    async def shown(path: str) -> dict[str, Any]:
        responses = [
            (await world.call("GET", f"{path}{more}", headers=session)).body for more in ("", "?state=deleted")
        ]
        return {each["id"]: each for response in responses for each in response[path.rpartition("/")[2]]}

    for name, count in (("sites", 2), ("links", 3)):
        in_lists = await shown(f"/v1/{name}")
        exported = json.loads(files[f"{name}.json"])
        assert len(exported) == len(in_lists) == count
        as_table = rows_of(files[f"{name}.csv"])
        for each, cells in zip(exported, as_table, strict=True):
            edge = each.pop("edge_account_id")
            assert edge == (OTHER_EDGE_ACCOUNT if each["account_id"] == second.id else EDGE_ACCOUNT)
            assert cells.pop("edge_account_id") == edge
            # If there are no broken targets, the export has an empty list, and the API omits the list.
            broken: dict[str, Any] = {"broken_targets": []} if name == "links" else {}
            assert each == {field: (broken | in_lists[each["id"]])[field] for field in each}
            assert list(cells) == list(each)
            for field, value in each.items():
                text = json.dumps(value) if isinstance(value, (bool, list)) else "" if value is None else value
                assert cells[field] == (f"'{text}" if field == "title" and text else text)


@pytest.mark.rule("X4", "X3")
async def test_exported_totals_match_those_of_each_site_and_link(world):
    user, _, _ = await a_full_user(world)
    session = await world.session(user)
    files = await export(world, session)
    objects = [*json.loads(files["sites.json"]), *json.loads(files["links.json"])]
    for by, file in (("day", "daily_totals.csv"), ("hour", "hourly_totals.csv")):
        rows = rows_of(files[file])
        expected = []
        for each in objects:
            kind, name = ("site", each["host"]) if "host" in each else ("link", each["code"])
            path = f"/v1/{kind}s/{each['id']}/totals?by={by}"
            for point in (await world.call("GET", path, headers=session)).body["totals"]:
                today = point["at"] == iso(TODAY * DAY_MS)
                expected.append(
                    {"target": each["id"], "kind": kind, "edge_account_id": each["edge_account_id"], "name": name}
                    | ({"day": point["at"][:10]} if by == "day" else {"at": point["at"]})
                    | {name: str(point[name]) for name in ("views", "bots", "visitors")}
                    | (
                        {"final": str(int(not today)), "imported": str(int("imported" in point)), "estimated": "0"}
                        if by == "day"
                        else {}
                    )
                )
        assert sorted(map(str, rows)) == sorted(map(str, expected))
        assert [list(row) for row in rows] == [list(row) for row in expected]
        assert len(rows) == (8 if by == "day" else 11)


@pytest.mark.rule("X4", "C3")
async def test_export_has_no_secrets_and_no_data_of_others(world):
    user, first, _ = await a_full_user(world)
    other = await world.user()
    others = await world.store.run(an_account(other.id))
    theirs = await world.store.run(a_site(others, "theirs.example"))
    await world.store.run(stored_days(theirs, range(10)))
    key = await world.key(user)
    await world.store.run(one(sql("update users set password_hash = 'the-hash'")))
    await world.store.run(one(sql("update accounts set token_id = 'the-token-id', token_name = 'svc-the-name'")))
    await world.store.run(one(sql("insert into worker_keys (digest, account_id) values ('the-digest', $1)", first.id)))
    for headers in (key, await world.session(user)):
        text = b"\n".join((await export(world, headers)).values()).decode()
        for hidden in (theirs, "theirs.example", others, other.email, "the-", "sealed", "svc_", "svs_"):
            assert hidden not in text
        assert key["Authorization"].removeprefix("Bearer ")[:12] not in text


@pytest.mark.rule("X4", "C4")
async def test_export_requires_full_access(world):
    user = await world.user()
    await world.account(user)
    assert (await world.call("GET", "/v1/export", headers=await world.key(user))).status == 200
    for scopes in (("accounts", "sites", "links"), ("reports",)):
        response = await world.call("GET", "/v1/export", headers=await world.key(user, *scopes))
        is_error(response, 403, "scope_required")
        assert response.body["error"]["details"]["scopes"] == ["accounts", "sites", "links", "reports"]
    limited = await world.key(user, allow_accounts=(EDGE_ACCOUNT,))
    is_error(await world.call("GET", "/v1/export", headers=limited), 403, "scope_required")
    is_error(await world.call("GET", "/v1/export"), 401, "unauthorized")


@pytest.mark.rule("X4")
async def test_exports_are_limited_to_ten_per_hour(world):
    user = await world.user()
    session, other = await world.session(user), await world.session(await world.user())
    for _ in range(12):  # HEAD requests do not count toward the limit
        response = await world.call("HEAD", "/v1/export", headers=session)
        assert (response.status, response.raw, response.headers["Content-Type"]) == (200, b"", "application/zip")
    for _ in range(10):
        assert json.loads((await export(world, session))["sites.json"]) == []
    refused = await world.call("GET", "/v1/export", headers=await world.key(user))
    is_error(refused, 429, "rate_limited")
    assert refused.headers["Retry-After"] == "3600"
    await export(world, other)
    world.clock.advance_s(3600)
    await export(world, session)


@pytest.mark.rule("X4")
async def test_large_export_has_each_row_once(world):
    """The export spans several pages of links, targets and rows, and uses the ZIP64 format."""
    user = await world.user()
    account = await world.account(user, link_host="go.example.com")
    made = [new_link(user.id, account.id, f"code-{n}", START_MS - n // 7) for n in range(2 * PAGE + 3)]
    await world.store.run(links.add_links(made, 10_000))
    await world.store.run(sites.add_site(new_site(user.id, account.id, "shop.example.com"), 10))
    busy = made[:: 3 * _GROUP] + made[1:3]
    rows = [(link.id, day, day, 0, 1) for link in busy for day in range(_ROWS // 2)]
    text = "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, $4, $5, 0, 1)"
    await world.store.run(one(many(text, rows)))
    assert len(made) > _LARGE_FROM
    # The export does not contain objects that were created after it began.
    late = await world.store.run(links.add_link(new_link(user.id, account.id, "late", START_MS + 1), 10_000))
    await world.store.run(stored_days(late.id, range(3)))
    files = await export(world, await world.session(user))
    assert {each["id"] for each in json.loads(files["links.json"])} == {link.id for link in made}
    assert sorted(row["id"] for row in rows_of(files["links.csv"])) == sorted(link.id for link in made)
    found = [(row["target"], row["day"], row["views"]) for row in rows_of(files["daily_totals.csv"])]
    assert sorted(found) == sorted((target, day_text(day), str(day)) for target, day, *_ in rows)


@pytest.mark.rule("X4", "G8")
async def test_abandoned_export_ends(clock, tmp_path):
    """Warnings fail the test, and an unfinished ZIP file would cause a warning when it is garbage-collected."""
    async with open_store(sqlite_config(tmp_path)) as store, open_world(store, clock, tmp_path) as world:
        user = await world.user()
        account = await world.account(user, link_host="go.example.com")
        session = await world.session(user)
        link = await store.run(a_link(account.id))
        draw = Random(1)
        rows = [(link, day, draw.randrange(10**12)) for day in range(20 * _ROWS)]
        text = "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, 0, 0, 0, 1)"
        await store.run(one(many(text, rows)))
        async with served(world, connections=1, buffer_bytes=SMALL_BYTES) as port:
            for version in ("HTTP/1.0", "HTTP/1.1"):
                async with half_read(port, session, "/v1/export", version):
                    pass
            async with await trio.open_tcp_stream("127.0.0.1", port) as last:
                await last.send_all(head("GET", "/v1/export", Authorization=session["Authorization"]))
                status, _, body = await response_of(last)
        gc.collect()
        assert status == 200
        with ZipFile(io.BytesIO(body)) as archive:
            found = [(row["target"], row["day"], row["views"]) for row in rows_of(archive.read("daily_totals.csv"))]
        assert found == [(target, day_text(day), str(views)) for target, day, views in rows]


# Characters that may begin a formula in spreadsheets (OWASP, CSV injection).
FORMULA_SIGNS = tuple("=+@\t\r\n")


@pytest.mark.rule("X4")
async def test_no_cell_begins_a_formula(world):
    """An account's name comes from the platform and can be any text, so the CSV files do not contain it."""
    user, first, _ = await a_full_user(world)
    await world.store.run(one(sql("update accounts set name = $2 where id = $1", first.id, "=cmd|'/c calc'!A1")))
    files = await export(world, await world.session(user))
    assert json.loads(files["accounts.json"])[0]["name"].startswith("=cmd")
    cells = [cell for name in FILES if name.endswith(".csv") for row in rows_of(files[name]) for cell in row.values()]
    assert len(cells) > 100
    for cell in cells:
        assert not cell.startswith(FORMULA_SIGNS)
        # codes of links may begin with -, but contain only letters, digits, _ and -
        assert not cell.startswith("-") or cell == "-rule_1"


@pytest.mark.rule("X4", "X2")
async def test_exported_links_can_be_imported(world, tmp_path):
    user, _, _ = await a_full_user(world)
    raw = (await export(world, await world.session(user)))["links.csv"]
    own = await world.store.read(list_links(LinkFilter(user.id)))
    assert [link.rules for link in own] == [RULES]
    rows = rows_in(raw)
    (tmp_path / "empty").mkdir()
    async with open_store(sqlite_config(tmp_path / "empty")) as store:

        async def made_in(edge_account_id: str, of: str | None = None) -> tuple[tuple[int, int, int, int], list[Any]]:
            account_id = await store.run(an_account(edge_account_id=edge_account_id))
            account = accounts.present(await store.read(accounts.account_by_id(account_id)))
            for apply in (False, True):
                report, refused = await imported(
                    store, account, rows, limit=100, now=1, apply=apply, export_account_id=of
                )
            again, _ = await imported(store, account, rows, limit=100, now=2, apply=True, export_account_id=of)
            assert (again.created, again.existing) == (0, report.created + report.existing)
            made = await store.read(list_links(LinkFilter(account.user_id)))
            counts = (report.created, report.existing, report.skipped, len(refused))
            return counts, [(link.code, link.url, link.rules, link.title, link.note, link.tags) for link in made]

        [link] = own
        texts = (TEXTS["title"], TEXTS["note"], TEXTS["tags"])
        assert await made_in(EDGE_ACCOUNT) == ((1, 0, 2, 0), [(link.code, link.url, link.rules, *texts)])
        assert await made_in("a" * 32) == ((0, 0, 3, 0), [])
        assert (await made_in("b" * 32, of=EDGE_ACCOUNT))[0] == (1, 0, 2, 0)
        assert (await made_in(OTHER_EDGE_ACCOUNT))[0] == (0, 0, 3, 0)  # the link was deleted together with its account
