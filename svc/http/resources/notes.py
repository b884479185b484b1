"""/v1/notes: notes on the days of reports. Notes exist only in the store, so changes are not synced to a Worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import notes as api
from svc.api.cursors import cursor_of, place_in
from svc.api.shape import Ok
from svc.errors import Invalid, Issue
from svc.http.serving.credentials import require
from svc.http.serving.visible import readable_link, readable_note, readable_site, visible_or_former
from svc.ids import new_id
from svc.model import Note, Scope
from svc.store import notes
from svc.store.notes import PLACE_KINDS, place_of
from svc.store.total_pages import FIRST_DAY, LAST_DAY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.api.shape import EmptyBody
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Account, FormerAccount, NoteTarget
    from svc.store.idempotency import StoredResponse

# The scope that an API key needs to write a note, by kind of target.
_SCOPES: Mapping[NoteTarget, Scope] = {"site": "sites", "link": "links", "account": "accounts"}


class Notes:
    """The handlers of /v1/notes."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        endpoints.read(api.LIST, self.list)
        endpoints.write(api.ADD, self.add)
        endpoints.write(api.CHANGE, self.change)
        endpoints.write(api.DELETE, self.delete)

    async def list(self, read: Read[api.NoteQuery]) -> api.NoteList:
        """Return the notes on a target. For a site or link, include the notes on its account."""
        query = read.query
        kind, target = api.target_of(query)
        first = FIRST_DAY if query.from_ is None else query.from_
        last = LAST_DAY if query.to is None else query.to
        if last < first:
            raise Invalid([Issue("to", "must not be before from")])
        after = None if query.cursor is None else place_in(query.cursor, query.listing, PLACE_KINDS)
        account = await self._account_of(read.caller, kind, target)
        targets = {target, account.id}
        listed = await self._store.read(notes.list_notes(sorted(targets), first, last, query.limit + 1, after))
        page = listed[: query.limit]
        return api.NoteList(
            notes=tuple(map(api.Note.from_model, page)),
            next_cursor=cursor_of(query.listing, place_of(page[-1])) if len(listed) > len(page) else None,
        )

    async def add(self, write: Write[api.NewNote]) -> StoredResponse:
        """Add a note."""
        body = write.body
        kind, target = api.target_of(body)
        _require_scope(write.caller, kind)
        account = await self._account_of(write.caller, kind, target)
        note = Note(
            id=new_id("note"),
            user_id=write.caller.user.id,
            account_id=account.id,
            target_kind=kind,
            target=target,
            day=body.day,
            text=body.text,
            created_at=self._clock(),
        )
        return await self._store.run(write.commit(_one, about=account)(notes.add_note(note)))

    async def change(self, write: Write[api.NoteChange]) -> StoredResponse:
        """Change a note's day or text."""
        account = await self._account_of_note(write.caller, write.id)
        changed = notes.change_note(write.caller.user.id, write.id, write.body.day, write.body.text)
        return await self._store.run(write.commit(_one, about=account)(changed))

    async def delete(self, write: Write[EmptyBody]) -> StoredResponse:
        """Delete a note."""
        account = await self._account_of_note(write.caller, write.id)
        deleted = notes.delete_note(write.caller.user.id, write.id)
        return await self._store.run(write.commit(lambda _: Ok(), about=account)(deleted))

    async def _account_of(self, caller: Caller, kind: NoteTarget, target: str) -> Account | FormerAccount:
        """Return the account of a target, which is a site, a link or the account itself. Raises NotFound."""
        if kind == "account":
            return await visible_or_former(self._store, caller, target)
        readable = readable_site if kind == "site" else readable_link
        _, account = await readable(self._store, caller, target)
        return account

    async def _account_of_note(self, caller: Caller, note_id: str) -> Account | FormerAccount:
        """Return the account of a note, after checking that the caller may change the note.

        Raises NotFound or Forbidden (code scope_required).
        """
        note, account = await readable_note(self._store, caller, note_id)
        _require_scope(caller, note.target_kind)
        return account


def _require_scope(caller: Caller, kind: NoteTarget) -> None:
    require(caller, (_SCOPES[kind],), session_only=False)


def _one(note: Note) -> api.OneNote:
    return api.OneNote(note=api.Note.from_model(note))
