"""Tests that notes are limited in number, listed by day in pages, and kept as long as their target's data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS, day_of
from svc.errors import Forbidden, NotFound
from svc.ids import new_id
from svc.model import Event
from svc.store import disconnects, events, links, notes, retention, sites
from svc.store.total_pages import FIRST_DAY, LAST_DAY
from svc.store.tx import many
from tests.clock import START_MS
from tests.store.direct_changes import delete_operations
from tests.store.makers import a_link, a_note, a_site, a_user, an_account, new_note, owner_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Note
    from svc.store.tx import Store, Tx

TODAY = day_of(START_MS)


def many_notes(of: Note, number: int) -> Tx[None]:
    """Add `number` copies of a note, one per day."""
    columns = (of.user_id, of.account_id, of.target_kind, of.target)
    yield many(
        "insert into notes (id, user_id, account_id, target_kind, target, day, text, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        [(new_id("note"), *columns, of.day - n, of.text, of.created_at) for n in range(number)],
    )


async def texts(store: Store, targets: Sequence[str], first: int = FIRST_DAY, last: int = LAST_DAY) -> list[str]:
    return [note.text for note in await store.read(notes.list_notes(targets, first, last, 1_000))]


async def test_list_has_the_notes_of_its_targets_by_day_then_by_age(store):
    account_id = await store.run(an_account())
    site, other = await store.run(a_site(account_id)), await store.run(a_site(account_id, "blog.example.com"))
    for target, kind, day, at, text in (
        (site, "site", TODAY, 2, "late"),
        (site, "site", TODAY, 1, "early"),
        (account_id, "account", TODAY - 1, 3, "account"),
        (other, "site", TODAY, 1, "other"),
        (site, "site", -100, 1, "before 1970"),
    ):
        await store.run(a_note(account_id, target, kind, day=day, at=at, text=text))
    assert await texts(store, [site, account_id]) == ["before 1970", "account", "early", "late"]
    assert await texts(store, [site, account_id], TODAY - 1, TODAY - 1) == ["account"]
    assert await texts(store, [other]) == ["other"]


async def test_pages_contain_each_note_once_even_if_notes_are_added_between_pages(store):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    user_id = await store.read(owner_of(account_id))
    # the days of some notes are before 1970
    await store.run(many_notes(new_note(user_id, account_id, site, day=3), 400))
    await store.run(many_notes(new_note(user_id, account_id, account_id, "account", day=3), 400))
    known = {note.id for note in await store.read(notes.list_notes([site, account_id], FIRST_DAY, LAST_DAY, 1_000))}
    seen: list[str] = []
    after = None
    while page := await store.read(notes.list_notes([site, account_id], FIRST_DAY, LAST_DAY, 7, after)):
        seen += [note.id for note in page]
        after = notes.place_of(page[-1])
        assert all(number >= 0 for number in after[:2])
        await store.run(a_note(account_id, site, day=TODAY) if len(seen) == 7 else a_user())
    assert len(known) == 800
    assert len(seen) == len(set(seen)) == 801
    assert known < set(seen)


async def test_limits_hold_for_concurrent_requests(store):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    user_id = await store.read(owner_of(account_id))
    await store.run(many_notes(new_note(user_id, account_id, site), notes.MAX_PER_TARGET - 3))
    ends: list[str] = []

    async def add() -> None:
        try:
            await store.run(a_note(account_id, site))
            ends.append("added")
        except Forbidden as error:
            ends.append(error.code)

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(add)
    assert sorted(ends) == ["added"] * 3 + ["limit_reached"] * 7
    await store.run(a_note(account_id, account_id, "account"))  # each target has its own limit
    with pytest.raises(Forbidden, match="limit of 500 notes"):
        await store.run(a_note(account_id, site))


async def test_all_notes_of_a_user_are_limited(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    link = await store.run(a_link(account_id))
    await store.run(many_notes(new_note(user_id, account_id, "lnk_other", "link"), notes.MAX_PER_USER))
    with pytest.raises(Forbidden, match="limit of 10,000 notes") as refused:
        await store.run(a_note(account_id, link, "link"))
    assert refused.value.code == "limit_reached"


async def test_note_needs_a_target_of_the_same_user(store):
    account_id, others = await store.run(an_account()), await store.run(an_account())
    theirs = await store.run(a_site(others))
    user_id = await store.read(owner_of(account_id))
    for target in (theirs, new_id("site")):
        with pytest.raises(NotFound):
            await store.run(notes.add_note(new_note(user_id, account_id, target)))


async def test_only_the_owner_can_change_and_delete_a_note(store):
    account_id = await store.run(an_account())
    note = await store.run(a_note(account_id, account_id, "account"))
    stranger = await store.run(a_user())
    for tx in (notes.change_note(stranger, note.id, None, "x"), notes.delete_note(stranger, note.id)):
        with pytest.raises(NotFound):
            await store.run(tx)
    assert await store.read(notes.get_note(stranger, note.id)) is None
    assert await store.read(notes.get_note(note.user_id, note.id)) == note


async def test_two_concurrent_changes_of_different_fields_both_last(store):
    account_id = await store.run(an_account())
    note = await store.run(a_note(account_id, account_id, "account"))
    for n in range(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, notes.change_note(note.user_id, note.id, TODAY - n - 1, None))
            nursery.start_soon(store.run, notes.change_note(note.user_id, note.id, None, f"text {n}"))
        found = await store.read(notes.get_note(note.user_id, note.id))
        assert found == replace(note, day=TODAY - n - 1, text=f"text {n}")


async def test_change_to_the_same_values_creates_no_event(store):
    account_id = await store.run(an_account())
    note = await store.run(a_note(account_id, account_id, "account"))

    def changed(text: str) -> Tx[Note]:
        yield Event(note.user_id, START_MS, "session", None, "note.change", note.id, "done")
        return (yield from notes.change_note(note.user_id, note.id, note.day, text))

    async def actions() -> list[str]:
        found, _ = await store.read(events.page(note.user_id, "oldest", None, 10))
        return [event.action for event in found]

    before = await actions()
    assert await store.run(changed(note.text)) == note
    assert await actions() == before
    await store.run(changed("another"))
    assert await actions() == [*before, "note.change"]


async def test_notes_are_kept_as_long_as_the_report_of_their_target(store):
    account_id = await store.run(an_account())
    site, link = await store.run(a_site(account_id)), await store.run(a_link(account_id))
    for target, kind in ((site, "site"), (link, "link"), (account_id, "account")):
        await store.run(a_note(account_id, target, kind, text=kind))
    await store.run(sites.delete_site(account_id, site))
    await store.run(links.delete_link(account_id, link, START_MS))
    operation = await store.run(disconnects.begin_disconnect(account_id, new_id("op"), START_MS))
    await store.run(disconnects.end_disconnect(operation, None, [], START_MS))
    assert await store.run(retention.delete_former_accounts(START_MS + DAY_MS)) == 0
    assert sorted(await texts(store, [site, link, account_id])) == ["account", "link", "site"]


async def test_deletion_of_a_former_account_deletes_its_notes(store):
    account_id, other = await store.run(an_account()), await store.run(an_account())
    for each in (account_id, other):
        await store.run(a_note(each, each, "account"))
    operation = await store.run(disconnects.begin_disconnect(account_id, new_id("op"), START_MS))
    await store.run(disconnects.end_disconnect(operation, None, [], START_MS))
    assert len(await texts(store, [account_id])) == 1
    await store.run(delete_operations(account_id))
    assert await store.run(retention.delete_former_accounts(START_MS - 1)) == 0
    assert await store.run(retention.delete_former_accounts(START_MS)) == 1
    assert await texts(store, [account_id]) == []
    assert len(await texts(store, [other])) == 1
