"""Tests of /v1/notes: targets, days and texts, lists, scopes, and notes in exports."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from svc.clock import day_of, day_text
from svc.store.notes import MAX_PER_TARGET
from tests.cases import cases
from tests.clock import START_MS
from tests.http.conftest import OTHER_EDGE_ACCOUNT
from tests.http.serving.test_refusals import is_error
from tests.store.makers import a_link, a_note, a_site, new_note
from tests.store.test_notes import many_notes

if TYPE_CHECKING:
    from svc.model import Account, Scope
    from tests.http.conftest import World

TODAY = day_of(START_MS)
NOW = "2026-11-21T04:00:00.000Z"
DAY = "2026-11-20"


async def targets_of(world: World, account: Account) -> dict[str, str]:
    """Create a site and a link. Return the ids of the site, link and account, by field name."""
    site, link = await world.store.run(a_site(account.id)), await world.store.run(a_link(account.id))
    return {"site_id": site, "link_id": link, "account_id": account.id}


async def listed(world: World, headers: dict[str, str], query: str) -> list[str]:
    """Return the texts of the notes that this query lists."""
    response = await world.call("GET", f"/v1/notes?{query}", headers=headers)
    assert response.status == 200, response.raw
    return [note["text"] for note in response.body["notes"]]


async def test_note_on_each_kind_of_target_is_created_changed_and_deleted(world):
    _, session, account = await world.ready()
    for field, target in (await targets_of(world, account)).items():
        body = {field: target, "day": DAY, "text": "Newsletter sent"}
        response = await world.call("POST", "/v1/notes", body, headers=session)
        assert (response.status, list(response.body)) == (201, ["note"])
        note = response.body["note"]
        assert note == {"id": note["id"], **body, "automatic": False, "created_at": NOW}
        path = f"/v1/notes/{note['id']}"
        for change in ({"text": "Newsletter"}, {"day": "2026-11-19"}, {}, {"day": None, "text": None}):
            note |= {name: value for name, value in change.items() if value is not None}
            response = await world.call("PATCH", path, change, headers=session)
            assert (response.status, response.body) == (200, {"note": note})
        assert await listed(world, session, f"{field}={target}") == ["Newsletter"]
        response = await world.call("DELETE", path, headers=session, json={})
        assert (response.status, response.body) == (200, {"ok": True})
        assert await listed(world, session, f"{field}={target}") == []
        for method in ("PATCH", "DELETE"):
            is_error(await world.call(method, path, {}, headers=session), 404, "not_found")
        events = (await world.call("GET", "/v1/events?limit=4", headers=session)).body["events"]
        actions = ["note.delete", "note.change", "note.change", "note.create"]
        assert [event["action"] for event in events] == actions
        assert {event["target"] for event in events} == {note["id"]}
        assert {event["edge_account_id"] for event in events} == {account.edge_account_id}


async def test_list_of_a_site_or_link_contains_the_notes_of_its_account(world):
    _, session, account = await world.ready()
    targets = await targets_of(world, account)
    other = await world.store.run(a_site(account.id, "blog.example.com"))
    for field, target in (*targets.items(), ("site_id", other)):
        body = {field: target, "day": DAY, "text": target}
        assert (await world.call("POST", "/v1/notes", body, headers=session)).status == 201
    for field, target in targets.items():
        assert set(await listed(world, session, f"{field}={target}")) == {target, account.id}
    assert await listed(world, session, f"account_id={account.id}") == [account.id]


async def test_list_is_limited_to_days_and_has_pages(world):
    _, session, account = await world.ready()
    site = await world.store.run(a_site(account.id))
    for n in range(5):
        await world.store.run(a_note(account.id, site, day=TODAY - n, text=f"day {n}"))
    query = f"site_id={site}&from={day_text(TODAY - 3)}&to={day_text(TODAY - 1)}"
    assert await listed(world, session, query) == ["day 3", "day 2", "day 1"]
    assert await listed(world, session, f"site_id={site}&from=0001-01-01&to=9999-12-31") == [
        f"day {n}" for n in (4, 3, 2, 1, 0)
    ]
    seen, cursor = [], ""
    while True:
        body = (await world.call("GET", f"/v1/notes?{query}&limit=2{cursor}", headers=session)).body
        seen += [note["text"] for note in body["notes"]]
        if "next_cursor" not in body:
            break
        cursor = f"&cursor={body['next_cursor']}"
    assert seen == ["day 3", "day 2", "day 1"]
    is_error(
        await world.call("GET", f"/v1/notes?site_id={site}{cursor}", headers=session), 400, "invalid_request"
    )  # the cursor was created for other days, so it is refused
    response = await world.call("GET", f"/v1/notes?site_id={site}&from=2026-02-02&to=2026-02-01", headers=session)
    assert response.body["error"]["details"]["issues"][0]["path"] == "to"


@cases(
    ("text", "status"),
    [
        ("x", 201),
        ("x" * 500, 201),
        ("\N{FAMILY}" * 500, 201),
        ("שלום <b>world</b> &amp; \u202eevil", 201),
        ("e\u0301\u200d\U0001f469\u200d\U0001f4bb", 201),
        ("=HYPERLINK(1)", 201),
        ("x" * 501, 400),
        ("", 400),
        (" \xa0\u200b\u2060", 400),
        ("a\nb", 400),
        ("a\tb", 400),
        ("a\n", 400),
        ("a\x85b", 400),
        ("a\u2028b", 400),
        ("a\x00", 400),
        ("\x1b[31m", 400),
        (5, 400),
    ],
)
async def test_text_is_one_line_of_at_most_500_characters(world, ready, text, status):
    _, session, account = ready
    body = {"account_id": account.id, "day": DAY, "text": text}
    response = await world.call("POST", "/v1/notes", body, headers=session)
    assert response.status == status
    if status == 201:
        assert response.body["note"]["text"] == text
        assert text in await listed(world, session, f"account_id={account.id}")
    else:
        assert response.body["error"]["details"]["issues"][0]["path"] == "text"


@cases(
    ("day", "status"),
    [
        ("2000-01-01", 201),
        ("2099-12-31", 201),
        ("2024-02-29", 201),
        ("1999-12-31", 400),
        ("2100-01-01", 400),
        ("9999-12-31", 400),
        ("2026-02-29", 400),
        ("2026-11-20T00:00:00Z", 400),
        ("20261120", 400),
        (20_000, 400),
    ],
)
async def test_day_is_a_date_of_this_century(world, ready, day, status):
    _, session, account = ready
    body = {"account_id": account.id, "day": day, "text": "x"}
    response = await world.call("POST", "/v1/notes", body, headers=session)
    assert response.status == status
    if status == 400:
        [issue] = response.body["error"]["details"]["issues"]
        assert (issue["path"], issue["code"]) == ("day", "not_day")


async def test_exactly_one_target_is_required(world):
    _, session, account = await world.ready()
    targets = await targets_of(world, account)
    for chosen in ({}, targets, {"site_id": targets["site_id"], "account_id": account.id}):
        query = "&".join(f"{name}={value}" for name, value in chosen.items())
        body = {**chosen, "day": DAY, "text": "x"}
        for response in (
            await world.call("POST", "/v1/notes", body, headers=session),
            await world.call("GET", f"/v1/notes?{query}", headers=session),
        ):
            is_error(response, 400, "invalid_request")
            issues = response.body["error"]["details"]["issues"]
            assert [issue["path"] for issue in issues] == [*chosen][1:] or [""]
    body = {"site_id": targets["link_id"], "day": DAY, "text": "x"}
    is_error(await world.call("POST", "/v1/notes", body, headers=session), 404, "not_found")


async def test_key_needs_the_scope_of_the_target(world):
    user, _, account = await world.ready()
    targets = await targets_of(world, account)
    needed: dict[str, Scope] = {"site_id": "sites", "link_id": "links", "account_id": "accounts"}
    for field, target in targets.items():
        note = await world.store.run(a_note(account.id, target, field.removesuffix("_id")))
        others: list[Scope] = [scope for scope in (*needed.values(), "reports") if scope != needed[field]]
        body = {field: target, "day": DAY, "text": "x"}
        for method, path, sent in (
            ("POST", "/v1/notes", body),
            ("PATCH", f"/v1/notes/{note.id}", {"text": "x"}),
            ("DELETE", f"/v1/notes/{note.id}", {}),
        ):
            refused = await world.call(method, path, sent, headers=await world.key(user, *others))
            is_error(refused, 403, "scope_required")
            assert refused.body["error"]["details"]["scopes"] == [needed[field]]
            done = await world.call(method, path, sent, headers=await world.key(user, needed[field]))
            assert done.status in (200, 201), done.raw


async def test_key_of_another_account_sees_no_notes(world):
    user, _, account = await world.ready()
    targets = await targets_of(world, account)
    elsewhere = {"allow_accounts": (OTHER_EDGE_ACCOUNT,)}
    for field, target in targets.items():
        note = await world.store.run(a_note(account.id, target, field.removesuffix("_id")))
        for method, path, sent in (
            ("GET", f"/v1/notes?{field}={target}", None),
            ("POST", "/v1/notes", {field: target, "day": DAY, "text": "x"}),
            ("PATCH", f"/v1/notes/{note.id}", {"text": "x"}),
            ("DELETE", f"/v1/notes/{note.id}", {}),
        ):
            is_error(await world.call(method, path, sent, headers=await world.key(user, **elsewhere)), 404, "not_found")


async def test_notes_can_be_read_and_changed_after_the_deletion_of_the_target(world):
    _, session, account = await world.ready()
    targets = await targets_of(world, account)
    kept = {}
    for field, target in targets.items():
        kept[field] = await world.store.run(a_note(account.id, target, field.removesuffix("_id"), text=field))
    for path in (f"/v1/sites/{targets['site_id']}", f"/v1/links/{targets['link_id']}", f"/v1/accounts/{account.id}"):
        assert (await world.call("DELETE", path, {}, headers=session)).status == 200
    for field, target in targets.items():
        assert field in await listed(world, session, f"{field}={target}")
        body = {field: target, "day": DAY, "text": "later"}
        assert (await world.call("POST", "/v1/notes", body, headers=session)).status == 201
        path = f"/v1/notes/{kept[field].id}"
        assert (await world.call("PATCH", path, {"text": "changed"}, headers=session)).status == 200
        assert (await world.call("DELETE", path, {}, headers=session)).status == 200


async def test_full_target_gets_limit_reached(world):
    user, session, account = await world.ready()
    note = new_note(user.id, account.id, account.id, "account")
    await world.store.run(many_notes(note, MAX_PER_TARGET - 1))
    body = {"account_id": account.id, "day": DAY, "text": "x"}
    assert (await world.call("POST", "/v1/notes", body, headers=session)).status == 201
    refused = await world.call("POST", "/v1/notes", body, headers=session)
    is_error(refused, 403, "limit_reached")
    # The operator cannot change this limit, so the remedy does not suggest asking for a higher one.
    assert refused.body["error"]["details"]["remedy"] == "Delete notes that you no longer need."
    assert len(await listed(world, session, f"account_id={account.id}")) == MAX_PER_TARGET


async def test_repeated_request_creates_one_note(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "day": DAY, "text": "x"}
    headers = {**session, "Idempotency-Key": "one"}
    first, second = [await world.call("POST", "/v1/notes", body, headers=headers) for _ in range(2)]
    assert first.raw == second.raw
    assert await listed(world, session, f"account_id={account.id}") == ["x"]


async def test_automatic_note_has_a_text_and_can_be_deleted_but_not_changed(world):
    _, session, account = await world.ready()
    targets = await targets_of(world, account)
    path = f"/v1/sites/{targets['site_id']}"
    assert (await world.call("POST", f"{path}/rotate", {}, headers=session)).status == 200
    query = f"/v1/notes?site_id={targets['site_id']}"
    [note] = (await world.call("GET", query, headers=session)).body["notes"]
    assert note == {
        "id": note["id"],
        "site_id": targets["site_id"],
        "day": day_text(TODAY),
        "text": "Snippet replaced. Views with the old snippet are counted until 2026-12-21.",
        "automatic": True,
        "kind": "snippet_rotated",
        "facts": {"until": "2026-12-21"},
        "created_at": NOW,
    }
    for change in ({"text": "mine"}, {"day": DAY}, {}):
        refused = await world.call("PATCH", f"/v1/notes/{note['id']}", change, headers=session)
        is_error(refused, 409, "note_automatic")
    response = await world.call("GET", "/v1/export", headers=session)
    with ZipFile(io.BytesIO(response.raw)) as archive:
        [exported] = json.loads(archive.read("notes.json"))
    assert (exported["text"], exported["automatic"]) == (note["text"], True)
    assert (await world.call("DELETE", f"/v1/notes/{note['id']}", {}, headers=session)).status == 200
    assert await listed(world, session, f"site_id={targets['site_id']}") == []
    response = await world.call("GET", "/v1/export", headers=session)
    with ZipFile(io.BytesIO(response.raw)) as archive:
        assert json.loads(archive.read("notes.json")) == []


@pytest.mark.rule("X4")
async def test_export_has_all_notes(world):
    _, session, account = await world.ready()
    targets = await targets_of(world, account)
    made: list[dict[str, Any]] = []
    for field, target in targets.items():
        body = {field: target, "day": DAY, "text": f"=1+1 <b>{field}</b> \N{HEBREW LETTER ALEF}"}
        note = (await world.call("POST", "/v1/notes", body, headers=session)).body["note"]
        made.append(note)
    response = await world.call("GET", "/v1/export", headers=session)
    with ZipFile(io.BytesIO(response.raw)) as archive:
        exported = json.loads(archive.read("notes.json"))
    expected = [{**note, "account_id": account.id, "edge_account_id": account.edge_account_id} for note in made]
    assert sorted(exported, key=lambda note: note["id"]) == sorted(expected, key=lambda note: note["id"])
