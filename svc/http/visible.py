"""What a caller may see: its user's objects, and of an API key only those of its edge accounts (rules C3, C4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import NotFound
from svc.store import accounts, links, sites

if TYPE_CHECKING:
    from svc.http.credentials import Caller
    from svc.model import Account, Link, Site
    from svc.store.tx import Store, Tx


async def visible_account(store: Store, caller: Caller, account_id: str) -> Account:
    """The caller's account. Raises NotFound: no such account, another user's, or not one of the key's."""
    return seen(caller, await store.peek(accounts.get_account(caller.user.id, account_id)))


async def visible_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account]:
    """The caller's site and its account. Raises NotFound."""
    site, account = await store.peek(_site_and_account(caller.user.id, site_id))
    return site, seen(caller, account)


async def visible_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account]:
    """The caller's link and its account. Raises NotFound."""
    link, account = await store.peek(_link_and_account(caller.user.id, link_id))
    return link, seen(caller, account)


def seen(caller: Caller, account: Account | None) -> Account:
    """A user's account, if this caller sees it. Raises NotFound, also when there is none."""
    if account is None or not caller.sees(account.edge_account_id):
        raise NotFound
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
