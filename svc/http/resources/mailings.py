"""/v1/{sites,accounts}/{id}/mailings: email reports about a site, or about all sites of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import mailings as api
from svc.http.serving.credentials import require
from svc.http.serving.visible import visible_account, visible_site
from svc.store import mailings
from svc.store.mailings import Settings, new_mailing
from svc.store.recipients import Wanted

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Account, Mailing, MailingTarget
    from svc.store.idempotency import StoredResponse


class Mailings:
    """The handlers of email reports."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        endpoints.read(api.SHOW_SITE, self.show_site)
        endpoints.write(api.PUT_SITE, self.put_site)
        endpoints.read(api.SHOW_ACCOUNT, self.show_account)
        endpoints.write(api.PUT_ACCOUNT, self.put_account)

    async def show_site(self, read: Read[NoQuery]) -> api.OneMailings:
        """Return the email reports about a site."""
        site, account = await visible_site(self._store, read.caller, read.id)
        return await self._show(account, "site", site.id)

    async def put_site(self, write: Write[api.PutMailings]) -> StoredResponse:
        """Set the email reports about a site."""
        site, account = await visible_site(self._store, write.caller, write.id)
        return await self._put(write, account, "site", site.id)

    async def show_account(self, read: Read[NoQuery]) -> api.OneMailings:
        """Return the email reports about an account."""
        account = await visible_account(self._store, read.caller, read.id)
        return await self._show(account, "account", account.id)

    async def put_account(self, write: Write[api.PutMailings]) -> StoredResponse:
        """Set the email reports about an account."""
        account = await visible_account(self._store, write.caller, write.id)
        return await self._put(write, account, "account", account.id)

    async def _show(self, account: Account, kind: MailingTarget, target: str) -> api.OneMailings:
        stored = await self._store.read(mailings.get_mailing(account.user_id, target))
        return _one(stored or new_mailing(account.user_id, account.id, kind, target, self._clock()))

    async def _put(
        self, write: Write[api.PutMailings], account: Account, kind: MailingTarget, target: str
    ) -> StoredResponse:
        """Store the settings.

        The caller must be allowed to read reports, because the recipients can read them. Otherwise, raises Forbidden
        with the code scope_required.
        """
        require(write.caller, ("reports",), session_only=False)
        body, now = write.body, self._clock()
        recipients = [Wanted(one.email, one.language) for one in body.recipients]
        put = mailings.put_mailing(
            write.caller.user,
            new_mailing(account.user_id, account.id, kind, target, now),
            Settings(body.weekly, body.monthly, recipients, body.alerts),
            write.request.language,
            now,
        )
        return await self._store.run(write.commit(_one, about=account)(put))


def _one(mailing: Mailing) -> api.OneMailings:
    return api.OneMailings(mailings=api.Mailings.from_model(mailing))
