"""Access control: callers can access only the objects of their user.

The functions raise NotFound for all other objects. An API key may be limited to some accounts (rules C3 and C4 in
docs/develop/conformance.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.errors import NotFound
from svc.logs import add_log_context
from svc.store import accounts, disconnects, links, notes, shares, sites

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.http.serving.credentials import Caller
    from svc.model import Account, FormerAccount, Link, Note, Share, Site
    from svc.store.tx import Store, Tx

A = TypeVar("A", bound="Account | FormerAccount")
Owned = TypeVar("Owned", bound="Site | Link | Note | Share")


async def visible_account(store: Store, caller: Caller, account_id: str) -> Account:
    """Return the caller's account. Raises NotFound if there is none, or if the caller may not access it."""
    return require_visible(caller, await store.peek(accounts.get_account(caller.user.id, account_id)))


async def visible_or_former(store: Store, caller: Caller, account_id: str) -> Account | FormerAccount:
    """Return the caller's account, or its `FormerAccount` after a disconnect. Raises NotFound if there is none."""
    return require_visible(caller, await store.peek(_account_or_former(caller.user.id, account_id)))


async def readable_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account | FormerAccount]:
    """Return the caller's site and its account, which may be disconnected. Raises NotFound if the site is missing."""
    site, account = await store.peek(_with_account(sites.get_site(caller.user.id, site_id), _account_or_former))
    return site, require_visible(caller, account)


async def visible_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account]:
    """Return the caller's site and its account. Raises NotFound if either is missing or the account is disconnected."""
    site, account = await store.peek(_with_account(sites.get_site(caller.user.id, site_id), accounts.get_account))
    return site, require_visible(caller, account)


async def readable_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account | FormerAccount]:
    """Return the caller's link and its account, which may be disconnected. Raises NotFound if the link is missing."""
    link, account = await store.peek(_with_account(links.get_link(caller.user.id, link_id), _account_or_former))
    return link, require_visible(caller, account)


async def readable_note(store: Store, caller: Caller, note_id: str) -> tuple[Note, Account | FormerAccount]:
    """Return the caller's note and its account, which may be disconnected. Raises NotFound if the note is missing."""
    note, account = await store.peek(_with_account(notes.get_note(caller.user.id, note_id), _account_or_former))
    return note, require_visible(caller, account)


async def readable_share(store: Store, caller: Caller, share_id: str) -> tuple[Share, Account | FormerAccount]:
    """Return the caller's share and its account, which may be disconnected. Raises NotFound if the share is missing."""
    share, account = await store.peek(_with_account(shares.get_share(caller.user.id, share_id), _account_or_former))
    return share, require_visible(caller, account)


async def visible_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account]:
    """Return the caller's link and its account. Raises NotFound if either is missing or the account is disconnected."""
    link, account = await store.peek(_with_account(links.get_link(caller.user.id, link_id), accounts.get_account))
    return link, require_visible(caller, account)


def require_visible(caller: Caller, account: A | None) -> A:
    """Return `account`. Raises NotFound if it is None or the caller may not access it."""
    if account is None or not caller.can_see(account.edge_account_id):
        raise NotFound
    add_log_context(account=account.id)
    return account


def _account_or_former(user_id: int, account_id: str) -> Tx[Account | FormerAccount | None]:
    account = yield from accounts.get_account(user_id, account_id)
    return account if account is not None else (yield from disconnects.former_account(user_id, account_id))


def _with_account(owned: Tx[Owned | None], find: Callable[[int, str], Tx[A | None]]) -> Tx[tuple[Owned, A | None]]:
    """Return the object that the transaction `owned` reads, with the account that `find` returns for it.

    If there is no such object, raises NotFound.
    """
    target = yield from owned
    if target is None:
        raise NotFound
    return target, (yield from find(target.user_id, target.account_id))
