"""The English texts of the notes that the service writes automatically, by kind. No I/O.

The store keeps only a note's kind and facts, so that the web application can show the note in another language. Facts
that are days have the form YYYY-MM-DD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import NoteKind


class Words(NamedTuple):
    """The text for a kind of note.

    `ended`: the text for a note with the fact `until`; None if notes of this kind have no end.
    """

    text: str
    ended: str | None = None


WORDS: Mapping[NoteKind, Words] = {
    "imported": Words("Counts up to {until} were imported from another product. Later counts are from this service."),
    "snippet_rotated": Words("Snippet replaced. Views with the old snippet are counted until {until}."),
    "worker_updated": Words("Worker updated."),
    "hours_refused": Words(
        "Most of the day's free quota of database rows was used, so hourly counts are missing for {hours} h. The day's"
        " total is complete."
    ),
    "route_missing": Words(
        "The site's route was found missing on {since}. Views are not counted until it is restored.",
        "The site's route was found missing on {since} and restored on {until}. Views during this"
        " time and shortly before it were not counted.",
    ),
    "link_host_route_missing": Words(
        "The route of the link host {host} was found missing on {since}. Links do not work until it is restored.",
        "The route of the link host {host} was found missing on {since} and restored on {until}. During this"
        " time and shortly before it, links did not work.",
    ),
}


def text_of(kind: NoteKind, facts: Mapping[str, str]) -> str:
    """Return the English text of an automatic note."""
    words = WORDS[kind]
    return (words.ended if words.ended and "until" in facts else words.text).format_map(facts)
