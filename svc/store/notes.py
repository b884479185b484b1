"""Transactions on the notes that reports show. The report of a site or link also shows the notes on its account."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden, NotFound
from svc.model import Note
from svc.store.locks import lock_account, lock_user
from svc.store.total_pages import FIRST_DAY
from svc.store.tx import UNCHANGED, Row, Tx, from_json, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

# The maximum numbers of notes that a user can write on one site, link or account, and in total.
MAX_PER_TARGET = 500
MAX_PER_USER = 10_000
PLACE_KINDS = (int, int, str)


def add_note(note: Note) -> Tx[Note]:
    """Add a note.

    Raises Forbidden limit_reached if the target or the user already has the maximum number of notes. Raises NotFound if
    the user has no such target, or if it has been deleted with its data.
    """
    yield from lock_user(note.user_id)
    yield from lock_account(note.account_id)
    if not (yield sql(_TARGET_EXISTS, note.user_id, note.target)):
        raise NotFound
    for condition, value, limit, of in (
        ("target = $1", note.target, MAX_PER_TARGET, "for this object"),
        ("user_id = $1", note.user_id, MAX_PER_USER, "in total"),
    ):
        [row] = yield sql(f"select count(*) as n from notes where {condition} and text is not null", value)  # noqa: S608  # SQL of this file
        if row["n"] >= limit:
            message = f"The limit of {limit:,} notes {of} has been reached."
            raise Forbidden("limit_reached", message, {"remedy": "Delete notes that you no longer need."})
    yield sql(
        "insert into notes (id, user_id, account_id, target_kind, target, day, text, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        note.id,
        note.user_id,
        note.account_id,
        note.target_kind,
        note.target,
        note.day,
        note.text,
        note.created_at,
    )
    return note


# The tables also contain deleted sites and links and disconnected accounts, as long as their reports can be read.
_TARGET_EXISTS = " union all ".join(
    f"select id from {table} where user_id = $1 and id = $2"  # noqa: S608  # names of this file
    for table in ("sites", "links", "accounts", "former_accounts")
)


def change_note(user_id: int, note_id: str, day: int | None, text: str | None) -> Tx[Note]:
    """Change a note's day, its text, or both. None leaves a value unchanged.

    Raises NotFound if the user has no such note; Conflict (note_automatic) if the service wrote the note.
    """
    yield from lock_user(user_id)
    note = yield from get_note(user_id, note_id)
    if note is None:
        raise NotFound
    if note.kind is not None:
        raise Conflict("note_automatic")
    changed = replace(note, day=note.day if day is None else day, text=note.text if text is None else text)
    if changed == note:
        yield UNCHANGED
        return note
    yield sql("update notes set day = $2, text = $3 where id = $1", note_id, changed.day, changed.text)
    return changed


def delete_note(user_id: int, note_id: str) -> Tx[None]:
    """Delete a note. A note that the service wrote is only hidden, so that it is not written again.

    Raises NotFound if the user has no such note.
    """
    if (yield sql("delete from notes where id = $1 and user_id = $2 and kind is null returning id", note_id, user_id)):
        return
    hidden = yield sql(
        "update notes set hidden = 1 where id = $1 and user_id = $2 and hidden = 0 returning id", note_id, user_id
    )
    if not hidden:
        raise NotFound


def get_note(user_id: int, note_id: str) -> Tx[Note | None]:
    """Return a note of this user; None if it does not exist or belongs to another user."""
    rows = yield sql("select * from notes where id = $1 and user_id = $2 and hidden = 0", note_id, user_id)
    return note_of(rows[0]) if rows else None


def place_of(note: Note) -> tuple[int, int, str]:
    """Return the position of a note in lists. A cursor cannot contain negative numbers, so the position has none."""
    return (note.day - FIRST_DAY, note.created_at, note.id)


def list_notes(
    targets: Sequence[str], first_day: int, last_day: int, limit: int, after: Sequence[int | str] | None = None
) -> Tx[list[Note]]:
    """Return a page of the notes on these targets and days, ordered by day.

    Notes on the same day are ordered oldest first.

    `after`: the position of the previous page's last note.
    """
    day, created_at, note_id = after or (0, 0, "")
    rows = yield sql(
        "select * from notes where target = any($1) and day between $2 and $3 and hidden = 0"
        " and (day, created_at, id) > ($4, $5, $6) order by day, created_at, id limit $7",
        tuple(targets),
        first_day,
        last_day,
        int(day) + FIRST_DAY,
        created_at,
        note_id,
        limit,
    )
    return [note_of(row) for row in rows]


def note_of(row: Row) -> Note:
    """Return the note that is stored in a row of `notes`."""
    return Note(
        id=row["id"],
        user_id=row["user_id"],
        account_id=row["account_id"],
        target_kind=row["target_kind"],
        target=row["target"],
        day=row["day"],
        text=row["text"] or "",
        created_at=row["created_at"],
        kind=row["kind"],
        facts=from_json(row["facts"]) or {},
    )
