"""/v1/events: the activity log of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import events as api
from svc.http.serving.credentials import has_full_access
from svc.store import events

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read


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
            events.page(user_id, query.order, after, query.limit, caller.edge_accounts, own=has_full_access(caller))
        )
        return api.EventList(
            events=tuple(map(api.Event.from_model, page)),
            next_cursor=None if following is None else api.id_of(user_id, following),
        )
