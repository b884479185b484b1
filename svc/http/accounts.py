"""/v1/accounts: connecting edge accounts, installing the worker, zones, the link host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Forbidden, NotFound
from svc.http import wire
from svc.http.bodies import Connect, Nothing, PutLinkHost, known_id
from svc.http.gate import answer, reply, route
from svc.store import accounts, operations

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.actors.context import Commit
    from svc.http.credentials import Caller
    from svc.http.deps import Deps
    from svc.http.gate import Gate
    from svc.model import Account, LinkHost, Operation
    from svc.store.tx import Store, Tx


class Accounts:
    """The handlers of /v1/accounts."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._supervisor = deps.supervisor
        self._bundle = deps.bundle
        self._gate = gate

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "GET", "/v1/accounts", self.show_all)
        route(app, "POST", "/v1/accounts", self.connect)
        route(app, "GET", "/v1/accounts/<account_id>", self.show)
        route(app, "GET", "/v1/accounts/<account_id>/zones", self.zones)
        route(app, "POST", "/v1/accounts/<account_id>/install", self.install)
        route(app, "PUT", "/v1/accounts/<account_id>/link-host", self.put_link_host)

    async def show_all(self) -> Response:
        """The user's accounts, oldest first."""
        caller = await self._gate.read("accounts", "sites")
        found = await self._store.read(accounts.list_accounts(caller.user.id, caller.edge_accounts))
        return reply({"accounts": [wire.account(account, self._bundle) for account in found]})

    async def connect(self) -> Response:
        """Connect an edge account; the bootstrap token lives no longer than this request."""
        call = await self._gate.write(Connect, "accounts")
        if not call.caller.user.email_confirmed:
            raise Forbidden("email_unconfirmed")
        edge_account_id = call.body.edge_account_id
        if not call.caller.sees(edge_account_id):
            raise NotFound
        actor = self._supervisor.account(edge_account_id)

        async def work(commit: Commit[Account, Account]) -> Account:
            return await actor.connect(call.caller.user.id, call.body.bootstrap_token, commit)

        return await self._gate.once(
            call, work, lambda account: answer({"account": wire.account(account, self._bundle)}, 202)
        )

    async def show(self, account_id: str) -> Response:
        """One account with its latest operation and its link host."""
        caller = await self._gate.read("accounts", "sites")
        known_id("acc", account_id)
        account, latest = await self._store.read(_account_and_operation(caller.user.id, account_id))
        if account is None or not caller.sees(account.edge_account_id):
            raise NotFound
        return reply({"account": wire.account_in_full(account, self._bundle, latest)})

    async def zones(self, account_id: str) -> Response:
        """The zones of the edge account, live."""
        caller = await self._gate.read("accounts", "sites")
        account = await visible_account(self._store, caller, account_id)
        found, truncated = await self._supervisor.account(account.edge_account_id).zones(account)
        listed = [{"name": zone.name, "status": zone.status} for zone in found]
        return reply({"zones": listed, "truncated": truncated})

    async def install(self, account_id: str) -> Response:
        """Install the worker, or install it again."""
        call = await self._gate.write(Nothing, "accounts")
        account = await visible_account(self._store, call.caller, account_id)
        actor = self._supervisor.account(account.edge_account_id)

        async def work(commit: Commit[Account, Account]) -> Account:
            return await actor.install(account.id, commit)

        return await self._gate.once(call, work, lambda it: answer({"account": wire.account(it, self._bundle)}, 202))

    async def put_link_host(self, account_id: str) -> Response:
        """Set or replace the host of the account's short links."""
        call = await self._gate.write(PutLinkHost, "sites")
        account = await visible_account(self._store, call.caller, account_id)
        actor = self._supervisor.account(account.edge_account_id)

        async def work(commit: Commit[LinkHost, LinkHost]) -> LinkHost:
            return await actor.put_link_host(account.id, call.body.host, commit)

        return await self._gate.once(
            call, work, lambda host: answer({"link_host": wire.link_host(host, account.synced_version)}, 202)
        )


async def visible_account(store: Store, caller: Caller, account_id: str) -> Account:
    """The caller's account. Raises NotFound: no such account, another user's, or not one of the key's."""
    account = await store.peek(accounts.get_account(caller.user.id, known_id("acc", account_id)))
    if account is None or not caller.sees(account.edge_account_id):
        raise NotFound
    return account


def _account_and_operation(user_id: int, account_id: str) -> Tx[tuple[Account | None, Operation | None]]:
    account = yield from accounts.get_account(user_id, account_id)
    latest = (yield from operations.latest(account_id)) if account is not None else None
    return account, latest
