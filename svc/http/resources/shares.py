"""…/shares and /v1/shares: public pages with the counts of a site, a link or an account.

The store contains a share's secret only in encrypted form and as a digest. The same applies to the responses that are
stored for Idempotency-Keys.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_core import from_json, to_json

from svc.api import shares as api
from svc.api.shape import Ok
from svc.clock import day_of
from svc.errors import CannotUnseal, Invalid, Issue
from svc.http.serving.credentials import require
from svc.http.serving.visible import (
    readable_link,
    readable_share,
    readable_site,
    visible_account,
    visible_link,
    visible_or_former,
    visible_site,
)
from svc.ids import digest, new_id
from svc.model import Scope, Share
from svc.store import shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.api.shape import EmptyBody, NoQuery
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Account, FormerAccount, TargetKind
    from svc.store.idempotency import StoredResponse

# The scopes that an API key needs to create, change and delete a share, by kind of target. It needs all of them. To
# create or change a share, it also needs the `reports` scope, because anyone with the URL can read the counts.
_SCOPES: Mapping[TargetKind, tuple[Scope, ...]] = {
    "site": ("sites",),
    "link": ("links",),
    "account": ("sites", "links"),
}


class Shares:
    """The handlers of …/shares and /v1/shares."""

    def __init__(self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._vault = deps.context.vault
        self._base_url = deps.base_url
        self._passwords = passwords
        endpoints.read(api.LIST_OF_SITE, self.list_of_site)
        endpoints.read(api.LIST_OF_LINK, self.list_of_link)
        endpoints.read(api.LIST_OF_ACCOUNT, self.list_of_account)
        endpoints.write(api.ADD_TO_SITE, self.add_to_site, self._with_url)
        endpoints.write(api.ADD_TO_LINK, self.add_to_link, self._with_url)
        endpoints.write(api.ADD_TO_ACCOUNT, self.add_to_account, self._with_url)
        endpoints.write(api.CHANGE, self.change, self._with_url)
        endpoints.write(api.DELETE, self.delete)

    async def list_of_site(self, read: Read[NoQuery]) -> api.ShareList:
        """Return the shares of a site."""
        await readable_site(self._store, read.caller, read.id)
        return await self._list(read.id)

    async def list_of_link(self, read: Read[NoQuery]) -> api.ShareList:
        """Return the shares of a link."""
        await readable_link(self._store, read.caller, read.id)
        return await self._list(read.id)

    async def list_of_account(self, read: Read[NoQuery]) -> api.ShareList:
        """Return the shares of an account."""
        await visible_or_former(self._store, read.caller, read.id)
        return await self._list(read.id)

    async def add_to_site(self, write: Write[api.NewShare]) -> StoredResponse:
        """Share the counts of a site."""
        _, account = await visible_site(self._store, write.caller, write.id)
        _require_scopes(write.caller, "site", "reports")
        return await self._add(write, "site", account)

    async def add_to_link(self, write: Write[api.NewShare]) -> StoredResponse:
        """Share the counts of a link."""
        _, account = await visible_link(self._store, write.caller, write.id)
        _require_scopes(write.caller, "link", "reports")
        return await self._add(write, "link", account)

    async def add_to_account(self, write: Write[api.NewShare]) -> StoredResponse:
        """Share the totals of all sites of an account."""
        _require_scopes(write.caller, "account", "reports")
        return await self._add(write, "account", await visible_account(self._store, write.caller, write.id))

    async def change(self, write: Write[api.ShareChange]) -> StoredResponse:
        """Change a share."""
        account = await self._account_of(write.caller, write.id, "reports")
        body = write.body
        self._check_end(body.until)
        changes = body.changes()
        if "password" in body.model_fields_set:
            password = body.password
            changes["password_hash"] = None if password is None else await self._passwords.hash(password)
        changed = shares.change_share(write.caller.user.id, write.id, changes)
        return await self._store.run(write.commit(_one, about=account)(changed))

    async def delete(self, write: Write[EmptyBody]) -> StoredResponse:
        """End a share."""
        account = await self._account_of(write.caller, write.id)
        deleted = shares.delete_share(write.caller.user.id, write.id)
        return await self._store.run(write.commit(lambda _: Ok(), about=account)(deleted))

    async def _add(self, write: Write[api.NewShare], kind: TargetKind, account: Account) -> StoredResponse:
        body = write.body
        self._check_end(body.until)
        share_id, secret = new_id("shr"), new_id("shs")
        share = Share(
            id=share_id,
            user_id=write.caller.user.id,
            account_id=account.id,
            target_kind=kind,
            target=write.id,
            name=body.name,
            sealed_secret=self._vault.seal(secret, share_id),
            password_hash=None if body.password is None else await self._passwords.hash(body.password),
            until=body.until,
            periods=body.periods,
            lists=body.lists,
            embed=body.embed,
            created_at=self._clock(),
        )
        commit = write.commit(_one, about=account, target=share_id)
        return await self._store.run(commit(shares.add_share(share, digest(secret))))

    async def _list(self, target: str) -> api.ShareList:
        found = await self._store.peek(shares.list_shares(target))
        return api.ShareList(shares=tuple(api.Share.from_model(each, self._url_of(each)) for each in found))

    async def _account_of(self, caller: Caller, share_id: str, *also: Scope) -> Account | FormerAccount:
        """Return the account of a share, after checking that the caller has its scopes and the scopes `also`.

        Raises NotFound or Forbidden (code scope_required).
        """
        share, account = await readable_share(self._store, caller, share_id)
        _require_scopes(caller, share.target_kind, *also)
        return account

    def _check_end(self, until: int | None) -> None:
        if until is not None and until < day_of(self._clock()):
            raise Invalid([Issue("until", "must be today or a later day")])

    def _url_of(self, share: Share) -> str | None:
        return self._url(share.sealed_secret, share.id)

    def _url(self, sealed: bytes, share_id: str) -> str | None:
        try:
            return f"{self._base_url}/s/{self._vault.open(sealed, share_id)}"
        except CannotUnseal:
            return None

    def _with_url(self, response: StoredResponse) -> StoredResponse:
        """Return the response with the URL in place of the encrypted secret."""
        body = from_json(response.body)
        if "share" not in body:  # the response is an error
            return response
        share = body["share"]
        share["url"] = self._url(b64decode(share["url"]), share["id"])
        return replace(response, body=to_json(body))


def _require_scopes(caller: Caller, kind: TargetKind, *also: Scope) -> None:
    """Check that the caller has all scopes for shares of this kind of target, and the scopes `also`.

    Raises Forbidden with the code scope_required.
    """
    for scope in (*_SCOPES[kind], *also):
        require(caller, (scope,), session_only=False)


def _one(share: Share) -> api.OneShare:
    """Return the response in its stored form, in which `url` is the encrypted secret."""
    return api.OneShare(share=api.Share.from_model(share, b64encode(share.sealed_secret).decode()))
