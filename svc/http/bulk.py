"""POST /v1/links/bulk: many links in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from svc.actors.bulk import WantedLink, links_made
from svc.api import bulk as api
from svc.api.errors import ErrorObject
from svc.api.links import Link, rules_of
from svc.errors import ServiceError
from svc.http.visible import visible_account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc import model
    from svc.http.deps import Deps
    from svc.http.serve import Serve, Write
    from svc.model import Account
    from svc.store.idempotency import StoredAnswer

# Rows that are looked at before other requests get their turn: about a millisecond.
_ROWS_A_TURN = 10


class Bulk:
    """The handler of /v1/links/bulk."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.store
        self._supervisor = deps.supervisor
        serve.write(api.ADD_MANY, self.add)

    async def add(self, write: Write[api.NewLinks]) -> StoredAnswer:
        """New links; a result for each."""
        account = await visible_account(self._store, write.caller, write.body.account_id)
        wanted: list[WantedLink | ServiceError] = []
        for value in write.body.links:
            if len(wanted) % _ROWS_A_TURN == 0:
                await trio.lowlevel.checkpoint()
            row = api.row_of(value)
            wanted.append(row if isinstance(row, ServiceError) else WantedLink(row.url, row.code, rules_of(row.rules)))

        def render(made: Sequence[model.Link | ServiceError]) -> api.Results:
            return api.Results(results=tuple(_result(one, account) for one in made))

        actor = self._supervisor.account(account.edge_account_id)
        commit = write.commit(render, about=account, target=account.id, count=links_made)
        return await actor.add_links(account, wanted, commit)


def _result(made: model.Link | ServiceError, account: Account) -> api.Result:
    if isinstance(made, ServiceError):
        return api.Result(error=ErrorObject.of(made.note()))
    return api.Result(link=Link.of(made, account))
