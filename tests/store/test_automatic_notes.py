"""Tests of the service's notes. Each cause writes one note, in the same transaction as the change.

The service does not write a deleted note again for the same cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from svc import note_texts
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text
from svc.errors import Conflict, NotFound
from svc.ids import new_id
from svc.model import Counts, NoteKind
from svc.store import automatic_notes, notes, operations, sites, totals
from svc.store.imported_days import import_days, targets_named
from svc.store.total_pages import FIRST_DAY, LAST_DAY
from svc.worker.pushed import PushedPart
from tests.clock import START_MS
from tests.store.makers import a_link, a_note, a_site, a_user, owner_of

if TYPE_CHECKING:
    from svc.model import Site
    from svc.store.tx import Store, Tx

TODAY = day_of(START_MS)
NOW_DAY = day_text(TODAY)
FACTS = {"until": "2026-11-20", "since": "2026-11-18", "hours": "2", "host": "go.example.com"}


async def written(store: Store, *targets: str) -> list[tuple[str | None, int, dict[str, str]]]:
    """Return kind, day and facts of the visible notes of these targets."""
    found = await store.read(notes.list_notes(targets, FIRST_DAY, LAST_DAY, 1_000))
    return [(note.kind, note.day, dict(note.facts)) for note in found]


async def hide_all(store: Store, target: str) -> None:
    for note in await store.read(notes.list_notes([target], FIRST_DAY, LAST_DAY, 1_000)):
        await store.run(notes.delete_note(note.user_id, note.id))
    assert await written(store, target) == []


@pytest.fixture
async def site(store, account_id):
    site_id = await store.run(a_site(account_id))
    return await store.read(sites.get_site(await store.read(owner_of(account_id)), site_id))


@pytest.mark.parametrize("kind", get_args(NoteKind))
def test_each_kind_has_texts_without_placeholders(kind):
    for facts in (FACTS, {name: value for name, value in FACTS.items() if name != "until"}):
        if kind in ("imported", "snippet_rotated") and "until" not in facts:
            continue
        text = note_texts.ENGLISH[kind].fill(facts)
        assert text[0].isupper()
        assert text.endswith(".")
        assert "{" not in text


def part(day: int, hours: list[int], *, as_of_hour: int = 24) -> PushedPart:
    start = day * DAY_MS
    return PushedPart(1, day, start + as_of_hour * HOUR_MS, False, (), tuple(start + n * HOUR_MS for n in hours), ())


async def test_refused_hours_of_a_day_are_one_note_that_grows(store, account_id):
    for _ in range(2):
        await store.run(totals.ingest(account_id, [part(TODAY - 1, [3, 4])], START_MS))
    assert await written(store, account_id) == [("hours_refused", TODAY - 1, {"hours": "2"})]
    await store.run(totals.ingest(account_id, [part(TODAY - 1, [4, 5]), part(TODAY - 2, [0])], START_MS))
    expected = [("hours_refused", TODAY - 2, {"hours": "1"}), ("hours_refused", TODAY - 1, {"hours": "3"})]
    assert await written(store, account_id) == expected
    await hide_all(store, account_id)
    await store.run(totals.ingest(account_id, [part(TODAY - 1, [6])], START_MS))
    assert await written(store, account_id) == []


async def test_push_without_refused_hours_writes_no_note(store, account_id):
    await store.run(totals.ingest(account_id, [part(TODAY - 1, [])], START_MS))
    assert await written(store, account_id) == []


async def test_note_of_an_import_is_on_its_last_day_and_moves_with_a_later_import(store, account_id):
    link = await store.run(a_link(account_id))
    [target] = await store.read(targets_named([account_id], "link", "sale26"))

    def imported(*ago: int) -> Tx[None]:
        yield from import_days(target, {TODAY - days: Counts(1) for days in ago})
        yield from automatic_notes.imported(account_id, "link", link, START_MS)

    for ago, until in (((50, 40), 40), ((60,), 40), ((30,), 30)):
        await store.run(imported(*ago))
        day = TODAY - until
        assert await written(store, link) == [("imported", day, {"until": day_text(day)})]
    await hide_all(store, link)
    await store.run(imported(55))
    assert await written(store, link) == []
    await store.run(imported(20))
    assert len(await written(store, link)) == 1


async def test_import_of_days_that_the_worker_has_counted_has_no_note(store, account_id):
    link = await store.run(a_link(account_id))
    await store.run(automatic_notes.imported(account_id, "link", link, START_MS))
    assert await written(store, link) == []


async def test_each_rotation_has_a_note(store, site):
    until = START_MS + 30 * DAY_MS
    for _ in range(2):
        await store.run(automatic_notes.snippet_rotated(site, until, START_MS))
    facts = {"until": day_text(day_of(until))}
    assert await written(store, site.id) == [("snippet_rotated", TODAY, facts)]


@pytest.mark.parametrize(("kind", "count"), [("update", 1), ("install", 0)])
async def test_completed_update_has_a_note(store, account_id, kind, count):
    running = await store.read(operations.running(account_id))
    await store.run(operations.finish(running.id, START_MS))
    operation = await store.run(operations.add(new_id("op"), account_id, running.edge_account_id, kind, "x", START_MS))
    for _ in range(2):
        await store.run(operations.finish(operation.id, START_MS))
    assert await written(store, account_id) == [("worker_updated", TODAY, {})] * count


async def test_failed_update_has_no_note(store, account_id):
    running = await store.read(operations.running(account_id))
    await store.run(operations.finish(running.id, START_MS))
    operation = await store.run(
        operations.add(new_id("op"), account_id, running.edge_account_id, "update", "x", START_MS)
    )
    await store.run(operations.fail(operation.id, Conflict("name_taken").to_note(), START_MS))
    assert await written(store, account_id) == []


async def test_missing_route_is_one_note_until_it_is_restored(store, site: Site):
    for days in (0, 1):
        await store.run(automatic_notes.route_missing(site, START_MS + days * DAY_MS))
    [(kind, day, _)] = await written(store, site.id)
    assert (kind, day) == ("route_missing", TODAY)
    for days in (2, 3):
        await store.run(automatic_notes.route_restored(site.id, "route_missing", START_MS + days * DAY_MS))
    ended = ("route_missing", TODAY, {"since": NOW_DAY, "until": day_text(TODAY + 2)})
    assert await written(store, site.id) == [ended]
    await store.run(automatic_notes.route_missing(site, START_MS + 5 * DAY_MS))
    assert await written(store, site.id) == [ended, ("route_missing", TODAY + 5, {"since": day_text(TODAY + 5)})]


async def test_deleted_note_of_a_missing_route_does_not_return_with_its_end(store, site: Site):
    await store.run(automatic_notes.route_missing(site, START_MS))
    await hide_all(store, site.id)
    await store.run(automatic_notes.route_missing(site, START_MS + 1))
    await store.run(automatic_notes.route_restored(site.id, "route_missing", START_MS + DAY_MS))
    assert await written(store, site.id) == []
    # a later problem is a new cause, so it writes another note
    await store.run(automatic_notes.route_missing(site, START_MS + 2 * DAY_MS))
    assert len(await written(store, site.id)) == 1


async def test_missing_route_of_a_link_host_is_a_note_on_the_account(store, account_id):
    await store.run(automatic_notes.link_host_route_missing(account_id, "go.example.com", START_MS))
    await store.run(automatic_notes.route_restored(account_id, "link_host_route_missing", START_MS))
    facts = {"host": "go.example.com", "since": NOW_DAY, "until": NOW_DAY}
    assert await written(store, account_id) == [("link_host_route_missing", TODAY, facts)]


async def test_automatic_note_can_only_be_deleted_by_its_owner_and_never_changed(store, site: Site):
    await store.run(automatic_notes.route_missing(site, START_MS))
    [note] = await store.read(notes.list_notes([site.id], FIRST_DAY, LAST_DAY, 10))
    with pytest.raises(Conflict) as refused:
        await store.run(notes.change_note(site.user_id, note.id, TODAY - 1, "mine"))
    assert refused.value.code == "note_automatic"
    stranger = await store.run(a_user())
    with pytest.raises(NotFound):
        await store.run(notes.delete_note(stranger, note.id))
    await store.run(notes.delete_note(site.user_id, note.id))
    with pytest.raises(NotFound):
        await store.run(notes.delete_note(site.user_id, note.id))


async def test_automatic_notes_do_not_count_toward_the_limit(store, account_id, site: Site):
    for n in range(notes.MAX_PER_TARGET + 1):
        await store.run(automatic_notes.worker_updated(account_id, f"op_{n}", START_MS))
    await store.run(a_note(account_id, account_id, "account"))
