"""Access control: callers see only their user's objects. A limited key also restricts the accounts (rules C3, C4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.errors import NotFound
from svc.logs import add_log_context
from svc.store import accounts, disconnects, links, notes, sites

if TYPE_CHECKING:
    from svc.http.serving.credentials import Caller
    from svc.model import Account, FormerAccount, Link, Note, Site
    from svc.store.tx import Store, Tx

A = TypeVar("A", bound="Account | FormerAccount")


async def visible_account(store: Store, caller: Caller, account_id: str) -> Account:
    """Return the caller's account. Raises NotFound, even if another user or another API key could see the account."""
    return require_visible(caller, await store.peek(accounts.get_account(caller.user.id, account_id)))


async def visible_or_former(store: Store, caller: Caller, account_id: str) -> Account | FormerAccount:
    """Return the caller's account, or its `FormerAccount` after a disconnect. Raises NotFound."""
    return require_visible(caller, await store.peek(_account_or_former(caller.user.id, account_id)))


async def readable_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account | FormerAccount]:
    """Return the caller's site and its account, which may be disconnected. Raises NotFound."""
    site, account = await store.peek(_site_and_any_account(caller.user.id, site_id))
    return site, require_visible(caller, account)


async def visible_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account]:
    """Return the caller's site and its account. Raises NotFound, including for sites of disconnected accounts."""
    site, account = await store.peek(_site_and_account(caller.user.id, site_id))
    return site, require_visible(caller, account)


async def readable_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account | FormerAccount]:
    """Return the caller's link and its account, which may be disconnected. Raises NotFound."""
    link, account = await store.peek(_link_and_any_account(caller.user.id, link_id))
    return link, require_visible(caller, account)


async def readable_note(store: Store, caller: Caller, note_id: str) -> tuple[Note, Account | FormerAccount]:
    """Return the caller's note and its account, which may be disconnected. Raises NotFound."""
    note, account = await store.peek(_note_and_any_account(caller.user.id, note_id))
    return note, require_visible(caller, account)


async def visible_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account]:
    """Return the caller's link and its account. Raises NotFound, including for links of disconnected accounts."""
    link, account = await store.peek(_link_and_account(caller.user.id, link_id))
    return link, require_visible(caller, account)


def require_visible(caller: Caller, account: A | None) -> A:
    """Return `account` if the caller may see it. Raises NotFound otherwise, or if `account` is None."""
    if account is None or not caller.can_see(account.edge_account_id):
        raise NotFound
    add_log_context(account=account.id)
    return account


def _site_and_account(user_id: int, site_id: str) -> Tx[tuple[Site, Account | None]]:
    site = yield from sites.get_site(user_id, site_id)
    if site is None:
        raise NotFound
    return site, (yield from accounts.account_by_id(site.account_id))


def _link_and_account(user_id: int, link_id: str) -> Tx[tuple[Link, Account | None]]:
    link = yield from links.get_link(user_id, link_id)
    if link is None:
        raise NotFound
    return link, (yield from accounts.account_by_id(link.account_id))


def _account_or_former(user_id: int, account_id: str) -> Tx[Account | FormerAccount | None]:
    account = yield from accounts.get_account(user_id, account_id)
    return account if account is not None else (yield from disconnects.former_account(user_id, account_id))


def _site_and_any_account(user_id: int, site_id: str) -> Tx[tuple[Site, Account | FormerAccount | None]]:
    site = yield from sites.get_site(user_id, site_id)
    if site is None:
        raise NotFound
    return site, (yield from _account_or_former(user_id, site.account_id))


def _link_and_any_account(user_id: int, link_id: str) -> Tx[tuple[Link, Account | FormerAccount | None]]:
    link = yield from links.get_link(user_id, link_id)
    if link is None:
        raise NotFound
    return link, (yield from _account_or_former(user_id, link.account_id))


def _note_and_any_account(user_id: int, note_id: str) -> Tx[tuple[Note, Account | FormerAccount | None]]:
    note = yield from notes.get_note(user_id, note_id)
    if note is None:
        raise NotFound
    return note, (yield from _account_or_former(user_id, note.account_id))
