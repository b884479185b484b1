"""/v1/notes: notes on days, which are shown in the reports for a site, a link or a whole account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast, get_args

from pydantic import Field

from svc import note_texts
from svc.api.endpoint import Endpoint
from svc.api.fields import DIGITS, Cursor, Day, Id, Moment, NoteDay, NoteText, QueryDay
from svc.api.shape import LARGE_BYTES, Body, EmptyBody, Ok, Query, ResponseBody, optional_field
from svc.errors import Invalid, Issue
from svc.model import NoteKind, NoteTarget

if TYPE_CHECKING:
    from svc import model

_DAY = "The UTC day, from 2000-01-01 to 2099-12-31."
_TEXT = "One line, with at least one visible character."


class NewNote(Body):
    """A note to create. It has exactly one of `site_id`, `link_id` and `account_id`."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    site_id: Id | None = Field(None, description="The site whose reports show the note.")
    link_id: Id | None = Field(None, description="The link whose reports show the note.")
    account_id: Id | None = Field(None, description="The account whose sites and links show the note in their reports.")
    day: NoteDay = Field(description=_DAY)
    text: NoteText = Field(description=_TEXT)


class NoteChange(Body):
    """Changes to a note. Fields that are absent or null keep their value."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    day: NoteDay | None = Field(None, description=_DAY)
    text: NoteText | None = Field(None, description=_TEXT)


class NoteQuery(Query):
    """Selects notes by target (exactly one of `site_id`, `link_id` and `account_id`) and by day."""

    site_id: Id | None = optional_field("The notes of this site, and those of its account.")
    link_id: Id | None = optional_field("The notes of this link, and those of its account.")
    account_id: Id | None = optional_field("The notes of this account, without those of its sites and links.")
    from_: QueryDay | None = optional_field("The first UTC day. Default: the day of the first note.", "from")
    to: QueryDay | None = optional_field("The last UTC day, inclusive. Default: the day of the last note.")
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(1000, description="Maximum number of notes.")
    cursor: Cursor | None = optional_field("`next_cursor` of the previous page. All other parameters must be the same.")

    @property
    def listing(self) -> tuple[str | None, ...]:
        """The parameters that must be the same for all pages of this list."""
        days = (None if day is None else str(day) for day in (self.from_, self.to))
        return (self.site_id, self.link_id, self.account_id, *days)


class Note(ResponseBody):
    """A note. It has one of `site_id`, `link_id` and `account_id`."""

    id: str
    site_id: str | None = optional_field()
    link_id: str | None = optional_field()
    account_id: str | None = optional_field()
    day: Day
    text: str
    automatic: bool = Field(
        description="True if the service wrote the note to explain a change in the numbers. You can delete such a"
        " note, but not change it. The service does not recreate a note that you have deleted."
    )
    kind: NoteKind | None = optional_field("The cause of an automatic note. `text` describes it in English.")
    facts: dict[str, str] | None = optional_field(
        "The parameters of an automatic note's text. `since` and `until` are UTC days."
    )
    created_at: Moment

    @classmethod
    def from_model(cls, note: model.Note) -> Note:
        """Return the response for a note."""
        return cls(
            id=note.id,
            **{f"{note.target_kind}_id": note.target},
            day=note.day,
            text=text_of(note),
            automatic=note.kind is not None,
            kind=note.kind,
            facts=None if note.kind is None else dict(note.facts),
            created_at=note.created_at,
        )


class NoteList(ResponseBody):
    """A page of notes, ordered by day. Notes on the same day are ordered by creation time, oldest first."""

    notes: tuple[Note, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = optional_field("Present if there are more notes.")


class OneNote(ResponseBody):
    """The note as it is after the request."""

    note: Note


def text_of(note: model.Note) -> str:
    """Return the user's text, or the English text of an automatic note."""
    return note.text if note.kind is None else note_texts.ENGLISH[note.kind].fill(note.facts)


def target_of(asked: NewNote | NoteQuery) -> tuple[NoteTarget, str]:
    """Return the kind and the id of the target in a request.

    Raises Invalid unless the request has exactly one target.
    """
    given = {kind: value for kind in get_args(NoteTarget) if (value := getattr(asked, f"{kind}_id")) is not None}
    if not given:
        raise Invalid([Issue("", "must have site_id, link_id or account_id", "required")])
    first, *more = given
    if more:
        issues = [Issue(f"{kind}_id", f"must not be combined with {first}_id", "unknown") for kind in more]
        raise Invalid(issues)
    return cast("NoteTarget", first), given[first]


_SCOPES = (
    "An API key needs the `sites` scope for a note on a site, `links` for a note on a link, and `accounts` for a note"
    " on an account."
)

LIST = Endpoint(
    method="GET",
    path="/v1/notes",
    tag="reports",
    addition=True,
    summary="List the notes of a site, link or account",
    description="The list of a site or link also contains the notes of its account. Notes of deleted sites and links,"
    " and of disconnected accounts, can still be read and changed.",
    scopes=("reports",),
    query=NoteQuery,
    response=NoteList,
    codes=("not_found",),
)
ADD = Endpoint(
    method="POST",
    path="/v1/notes",
    tag="reports",
    addition=True,
    action="note.create",
    summary="Add a note to a day",
    description="Reports show the note below their chart.",
    scopes=("accounts", "sites", "links"),
    scopes_text=_SCOPES,
    body=NewNote,
    response=OneNote,
    status=201,
    codes=("limit_reached", "not_found"),
    example={"site_id": "site_k3v5d2m7q4x6a5c3e7zp", "day": "2026-11-21", "text": "Newsletter sent"},
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/notes/{note_id}",
    tag="reports",
    addition=True,
    action="note.change",
    summary="Change a note's day or text",
    description="A body that changes nothing is accepted.",
    scopes=("accounts", "sites", "links"),
    scopes_text=_SCOPES,
    body=NoteChange,
    response=OneNote,
    codes=("note_automatic",),
    example={"text": "Newsletter sent to 2,000 readers"},
)
DELETE = Endpoint(
    method="DELETE",
    path="/v1/notes/{note_id}",
    tag="reports",
    addition=True,
    action="note.delete",
    summary="Delete a note",
    description="The service does not recreate an automatic note that you have deleted.",
    scopes=("accounts", "sites", "links"),
    scopes_text=_SCOPES,
    body=EmptyBody,
    response=Ok,
)

ENDPOINTS = (LIST, ADD, CHANGE, DELETE)
