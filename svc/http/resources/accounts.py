"""/v1/accounts: list and show accounts, and change their name, plan and retention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import accounts as api
from svc.http.serving.visible import require_visible, visible_account
from svc.store import accounts, operations

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
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
        endpoints.read(api.LIST, self.list)
        endpoints.read(api.SHOW, self.show)
        endpoints.write(api.CHANGE, self.change)

    async def list(self, read: Read[NoQuery]) -> api.AccountList:
        """Return the user's accounts, oldest first."""
        connected = await self._context.store.read(
            accounts.list_accounts(read.caller.user.id, read.caller.edge_accounts)
        )
        bundle = self._context.bundle.sha256
        return api.AccountList(accounts=tuple(api.Account.from_model(account, bundle) for account in connected))

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

    def _one(self, account: Account) -> api.OneAccount:
        return api.OneAccount(account=api.Account.from_model(account, self._context.bundle.sha256))


def _account_and_operation(user_id: int, account_id: str) -> Tx[tuple[Account | None, Operation | None]]:
    account = yield from accounts.get_account(user_id, account_id)
    latest = (yield from operations.latest(account_id)) if account is not None else None
    return account, latest
