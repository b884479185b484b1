"""/v1/links/bulk: create, change and delete many links in one request."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

from svc.actors.requests.bulk import add_wanted, count_links
from svc.api import bulk as api
from svc.api import bulk_changes as changes
from svc.api.errors import ErrorObject
from svc.api.links import Link
from svc.errors import ServiceError
from svc.http.serving.requests import AccountPart
from svc.http.serving.visible import visible_account
from svc.model.link_texts import folded
from svc.store.link_batches import BatchChange, Selection, change_links, delete_links
from svc.store.link_lists import LinkFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc import model
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Write
    from svc.model import Account, WantedLink
    from svc.store.idempotency import StoredResponse
    from svc.store.link_batches import Batch, Outcome
    from svc.store.tx import Tx

# Maximum time for parsing rows before other requests can run. About a hundred typical rows take this long. The limit is
# a time and not a number of rows, because a single row with eleven long internationalized hosts takes 20 ms.
_TURN_S = 0.001


class Bulk:
    """The handler of /v1/links/bulk."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._parsing = trio.Lock()
        endpoints.write(api.ADD_MANY, self.add)
        endpoints.write(changes.CHANGE_MANY, self.change)
        endpoints.write(changes.DELETE_MANY, self.delete)

    async def add(self, write: Write[api.NewLinks]) -> StoredResponse:
        """Add links, and return a result for each."""
        account = await visible_account(self._context.store, write.caller, write.body.account_id)
        async with self._parsing:  # concurrent requests take turns
            wanted = await _parse_rows(write.body.links)

        def render(made: Sequence[model.Link | ServiceError]) -> api.Results:
            return api.Results(results=tuple(_result(each, account) for each in made))

        limit, now = self._context.config.limits.links, self._context.clock()
        commit = write.commit(render, about=account, target=account.id, count=count_links)
        return await self._context.store.run(commit(add_wanted(account, wanted, limit, now)))

    async def change(self, write: Write[changes.LinksChange]) -> StoredResponse:
        """Change links, and return a result for each. Raises Invalid if the selection is not valid or too large."""
        body = write.body
        change = BatchChange({} if body.set is None else body.set.to_model(), body.add_tags, body.remove_tags)
        return await self._run(write, change_links(_selection(write), change, dry_run=body.dry_run))

    async def delete(self, write: Write[changes.LinkSelection]) -> StoredResponse:
        """Delete links, and return a result for each. Raises Invalid if the selection is not valid or too large."""
        now = self._context.clock()
        return await self._run(write, delete_links(_selection(write), now, dry_run=write.body.dry_run))

    async def _run(
        self, write: Write[changes.LinksChange] | Write[changes.LinkSelection], effect: Tx[Batch]
    ) -> StoredResponse:
        def render(batch: Batch) -> changes.LinkOutcomes:
            return changes.LinkOutcomes(
                results=tuple(map(_outcome, batch.outcomes)),
                changed=batch.changes().total(),
                dry_run=write.body.dry_run,
            )

        # The response to a dry run can be 2 MB long, so it is not stored. If the request is repeated, the service
        # calculates the response again.
        commit = (replace(write, claim=None) if write.body.dry_run else write).commit(render, parts=_parts)
        return await self._context.store.run(commit(effect))


def _selection(write: Write[changes.LinksChange] | Write[changes.LinkSelection]) -> Selection:
    """Return the selection in the body, restricted to the caller's links.

    Raises Invalid unless the body has either ids or a filter.
    """
    caller, body = write.caller, write.body
    body.check()
    if body.filter is None:
        which = LinkFilter(caller.user.id, edge_accounts=caller.edge_accounts)
        return Selection(which, tuple(dict.fromkeys(body.ids or ())))
    which = LinkFilter(
        caller.user.id,
        body.filter.account_id,
        caller.edge_accounts,
        body.filter.contains,
        title_contains=folded(body.filter.q or ""),
        tag=body.filter.tag,
    )
    return Selection(which)


def _parts(batch: Batch) -> list[AccountPart]:
    return [
        AccountPart(account_id, batch.edge_accounts[account_id], count)
        for account_id, count in sorted(batch.changes().items())
    ]


def _outcome(outcome: Outcome) -> changes.LinkOutcome:
    return changes.LinkOutcome(
        id=outcome.link_id,
        code=None if outcome.link is None else outcome.link.code,
        changed=outcome.changed,
        error=None if outcome.error is None else ErrorObject.from_model(outcome.error.to_note()),
    )


async def _parse_rows(values: Sequence[object]) -> list[WantedLink | ServiceError]:
    """Return the parsed row or the error for each value. Every `_TURN_S`, let the event loop run other requests."""
    wanted: list[WantedLink | ServiceError] = []
    turn_ends_s = 0.0
    for value in values:
        if time.perf_counter() >= turn_ends_s:
            await trio.lowlevel.checkpoint()
            turn_ends_s = time.perf_counter() + _TURN_S
        row = api.row_of(value)
        wanted.append(row if isinstance(row, ServiceError) else row.to_model())
    return wanted


def _result(made: model.Link | ServiceError, account: Account) -> api.Result:
    if isinstance(made, ServiceError):
        return api.Result(error=ErrorObject.from_model(made.to_note()))
    return api.Result(link=Link.from_model(made, account))
