"""What a site shows of its problems: one column holds its error and its warnings.

Without warnings the column holds the error alone, as an object or null; with warnings, a list of notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from svc.model import SiteWarning
from svc.store.tx import Tx, from_json, note_from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.errors import ErrorNote

SITE_WARNINGS: tuple[SiteWarning, ...] = get_args(SiteWarning)


def notes_to_json(error: ErrorNote | None, warnings: Sequence[ErrorNote]) -> str | None:
    """The column's text for an error and warnings."""
    if not warnings:
        return to_json(error)
    return to_json([*warnings] if error is None else [error, *warnings])


def notes_from_json(text: str | None) -> tuple[ErrorNote | None, tuple[ErrorNote, ...]]:
    """The error and the warnings in the column's text."""
    stored = from_json(text)
    notes = [note_from_json(to_json(one)) for one in (stored if isinstance(stored, list) else [stored])]
    error = next((note for note in notes if note is not None and note.code not in SITE_WARNINGS), None)
    return error, tuple(note for note in notes if note is not None and note.code in SITE_WARNINGS)


def notes_of(site_id: str) -> Tx[tuple[ErrorNote | None, tuple[ErrorNote, ...]]]:
    """The site's error and warnings; none where there is no such site."""
    rows = yield sql("select error from sites where id = $1", site_id)
    return notes_from_json(rows[0]["error"] if rows else None)


def set_error(site_id: str, error: ErrorNote) -> Tx[None]:
    """Replace the site's error; its warnings stay."""
    _, warnings = yield from notes_of(site_id)
    yield sql("update sites set error = $2 where id = $1", site_id, notes_to_json(error, warnings))


def set_warnings(site_id: str, warnings: Sequence[ErrorNote]) -> Tx[None]:
    """Replace the site's warnings, unless it is deleted; its error stays."""
    error, _ = yield from notes_of(site_id)
    yield sql(
        "update sites set error = $2 where id = $1 and state <> 'deleted'", site_id, notes_to_json(error, warnings)
    )
