"""The English texts of the notes that the service writes automatically, by kind. No I/O.

The store keeps only a note's kind and facts, so that emails and the web application can show the note in another
language. Facts that are days have the form YYYY-MM-DD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import NoteKind


class NoteText(NamedTuple):
    """The text for a kind of note, in one language. Templates have a named parameter for each fact.

    `ended`: the text for a note with the fact `until`; None if there is only one text for this kind.
    """

    text: str
    ended: str | None = None

    def fill(self, facts: Mapping[str, str]) -> str:
        """Return the text with these facts."""
        return (self.ended if self.ended and "until" in facts else self.text).format_map(facts)


ENGLISH: Mapping[NoteKind, NoteText] = {
    "imported": NoteText(
        "Counts up to {until} were imported from another product. Later counts are from this service."
    ),
    "snippet_rotated": NoteText("Snippet replaced. Views with the old snippet are counted until {until}."),
    "worker_updated": NoteText("Worker updated."),
    "hours_refused": NoteText(
        "Most of the day's free quota of database rows was used, so hourly counts are missing for {hours} h. The day's"
        " total is complete."
    ),
    "route_missing": NoteText(
        "The site's route was found missing on {since}. Views are not counted until it is restored.",
        "The site's route was found missing on {since} and restored on {until}. Views during this"
        " time and shortly before it were not counted.",
    ),
    "link_host_route_missing": NoteText(
        "The route of the link host {host} was found missing on {since}. Links do not work until it is restored.",
        "The route of the link host {host} was found missing on {since} and restored on {until}. During this"
        " time and shortly before it, links did not work.",
    ),
}
