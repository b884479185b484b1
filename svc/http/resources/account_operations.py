"""/v1/accounts: connect accounts, renew the working token, install the Worker, and disconnect accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import account_operations as api
from svc.api.accounts import Account as ShownAccount
from svc.api.accounts import OneAccount
from svc.errors import Forbidden, NotFound
from svc.http.serving.visible import visible_account, visible_or_former

if TYPE_CHECKING:
    from svc.api.shape import EmptyBody
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Write
    from svc.model import Account
    from svc.store.idempotency import StoredResponse


class AccountOperations:
    """The handlers of the operations on an account."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._supervisor = deps.supervisor
        endpoints.write(api.CONNECT, self.connect)
        endpoints.write(api.RENEW, self.renew)
        endpoints.write(api.INSTALL, self.install)
        endpoints.write(api.DISCONNECT, self.disconnect)

    async def connect(self, write: Write[api.Connect]) -> StoredResponse:
        """Connect a Cloudflare account. The service does not keep the bootstrap token after this request."""
        user, body = write.caller.user, write.body
        if not user.email_confirmed:
            raise Forbidden("email_unconfirmed")
        if not write.caller.can_see(body.edge_account_id):
            raise NotFound
        actor = self._supervisor.account(body.edge_account_id)
        return await actor.connect(user.id, body.bootstrap_token, body.options(), write.commit(self._one), write.claim)

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

    def _one(self, account: Account) -> OneAccount:
        return OneAccount(account=ShownAccount.from_model(account, self._context.bundle.sha256))
