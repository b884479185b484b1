"""/v1/accounts: connect Cloudflare accounts, install the Worker, and list zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.checks.health_check import count_repaired
from svc.actors.requests import zones
from svc.api import accounts as api
from svc.errors import Forbidden, NotFound
from svc.http.serving.visible import require_visible, visible_account, visible_or_former
from svc.store import accounts, operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.checks.health_check import Checked
    from svc.api.shape import EmptyBody, NoQuery
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Account, Operation
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx


class Accounts:
    """The handlers of /v1/accounts."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._supervisor = deps.supervisor
        endpoints.read(api.LIST, self.list)
        endpoints.write(api.CONNECT, self.connect)
        endpoints.read(api.SHOW, self.show)
        endpoints.write(api.CHANGE, self.change)
        endpoints.read(api.ZONES, self.zones)
        endpoints.write(api.RENEW, self.renew)
        endpoints.write(api.INSTALL, self.install)
        endpoints.write(api.DISCONNECT, self.disconnect)
        endpoints.write(api.CHECK, self.check)

    async def list(self, read: Read[NoQuery]) -> api.AccountList:
        """Return the user's accounts, oldest first."""
        connected = await self._context.store.read(
            accounts.list_accounts(read.caller.user.id, read.caller.edge_accounts)
        )
        bundle = self._context.bundle.sha256
        return api.AccountList(accounts=tuple(api.Account.from_model(account, bundle) for account in connected))

    async def connect(self, write: Write[api.Connect]) -> StoredResponse:
        """Connect a Cloudflare account. The service does not keep the bootstrap token after this request."""
        user, body = write.caller.user, write.body
        if not user.email_confirmed:
            raise Forbidden("email_unconfirmed")
        if not write.caller.can_see(body.edge_account_id):
            raise NotFound
        actor = self._supervisor.account(body.edge_account_id)
        return await actor.connect(user.id, body.bootstrap_token, body.options(), write.commit(self._one), write.claim)

    async def show(self, read: Read[NoQuery]) -> api.OneFullAccount:
        """Return an account with its latest operation and its link host."""
        stored, latest = await self._context.store.read(_account_and_operation(read.caller.user.id, read.id))
        account = require_visible(read.caller, stored)
        return api.OneFullAccount(account=api.FullAccount.of_all(account, self._context.bundle.sha256, latest))

    async def change(self, write: Write[api.AccountChange]) -> StoredResponse:
        """Change the account's name, its plan, or how long its Worker keeps breakdowns."""
        account = await visible_account(self._context.store, write.caller, write.id)
        wanted = write.body
        changed = accounts.change_account(
            account.id,
            self._context.clock(),
            name=wanted.name,
            plan=wanted.plan,
            days_kept=wanted.days_kept,
            months_kept=wanted.months_kept,
        )
        return await self._context.store.run(write.commit(self._one, about=account)(changed))

    async def zones(self, read: Read[NoQuery]) -> api.Zones:
        """Return the zones of the Cloudflare account, which are read from Cloudflare during the request."""
        account = await visible_account(self._context.store, read.caller, read.id)
        listed, truncated = await zones.list_zones(self._context, account)
        return api.Zones(
            zones=tuple(api.Zone(name=zone.name, status=zone.status) for zone in listed), truncated=truncated
        )

    async def renew(self, write: Write[api.Renew]) -> StoredResponse:
        """Replace the working token. The service does not keep the bootstrap token after this request."""
        account = await visible_account(self._context.store, write.caller, write.id)
        actor = self._supervisor.account(account.edge_account_id)
        commit = write.commit(self._one, about=account)
        return await actor.renew(account.id, write.body.bootstrap_token, commit, write.claim)

    async def install(self, write: Write[EmptyBody]) -> StoredResponse:
        """Install or reinstall the Worker."""
        account = await visible_account(self._context.store, write.caller, write.id)
        actor = self._supervisor.account(account.edge_account_id)
        return await actor.install(account.id, write.commit(self._one, about=account), write.claim)

    async def disconnect(self, write: Write[EmptyBody]) -> StoredResponse:
        """Disconnect the account. If the account was already disconnected, return the result of that disconnect."""
        account = await visible_or_former(self._context.store, write.caller, write.id)
        actor = self._supervisor.account(account.edge_account_id)
        commit = write.commit(api.Disconnected.from_model, about=account)
        return await actor.disconnect(write.caller.user.id, account.id, commit, write.claim)

    async def check(self, write: Write[EmptyBody]) -> StoredResponse:
        """Run a health check of the account at Cloudflare, and repair what can be repaired safely."""
        account = await visible_account(self._context.store, write.caller, write.id)
        actor = self._supervisor.account(account.edge_account_id)
        return await actor.check(account.id, write.commit(_findings, about=account, count=count_repaired))

    def _one(self, account: Account) -> api.OneAccount:
        return api.OneAccount(account=api.Account.from_model(account, self._context.bundle.sha256))


def _findings(checked: Sequence[Checked]) -> api.Check:
    return api.Check(
        findings=tuple(
            api.Finding(
                kind=each.finding.kind,
                facts=dict(each.finding.facts),
                thing=each.finding.thing,
                expected=each.finding.expected,
                found=each.finding.found,
                remedy=None if each.repaired else each.finding.remedy,
                remedy_code=None if each.repaired or each.finding.is_repairable else each.finding.code,
                mended=each.repaired,
            )
            for each in checked
        )
    )


def _account_and_operation(user_id: int, account_id: str) -> Tx[tuple[Account | None, Operation | None]]:
    account = yield from accounts.get_account(user_id, account_id)
    latest = (yield from operations.latest(account_id)) if account is not None else None
    return account, latest
