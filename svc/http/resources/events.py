"""/v1/events: the audit log of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import events as api
from svc.http.serving.credentials import has_full_access
from svc.store import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Event
    from svc.store.tx import Tx


class Events:
    """The handler of /v1/events."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        endpoints.read(api.LIST, self.list)

    async def list(self, read: Read[api.EventQuery]) -> api.EventList:
        """Return a page of the events that the caller may see."""
        caller, query = read.caller, read.query
        user_id = caller.user.id
        after = None if query.after is None else api.number_in(query.after, user_id)
        page, following = await self._store.read(
            _page(user_id, query, after, caller.edge_accounts, full_access=has_full_access(caller))
        )
        return api.EventList(
            events=tuple(map(api.NamedEvent.from_model, page)),
            next_cursor=None if following is None else api.id_of(user_id, following),
        )


def _page(
    user_id: int, query: api.EventQuery, after: int | None, edge_accounts: Sequence[str] | None, *, full_access: bool
) -> Tx[tuple[list[Event], int | None]]:
    """Return a page of events, and the value of `after` for the next page.

    Without full access, the events have no names, because the caller may not be allowed to see the objects.
    """
    page, following = yield from events.page(user_id, query.order, after, query.limit, edge_accounts, own=full_access)
    if full_access:
        page = yield from events.add_names(user_id, page)
    return page, following
