"""What a caller may see: its user's objects, and of an API key only those of its edge accounts (rules C3, C4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.errors import NotFound
from svc.logs import tell_lines
from svc.store import accounts, disconnects, links, sites

if TYPE_CHECKING:
    from svc.http.serving.credentials import Caller
    from svc.model import Account, FormerAccount, Link, Site
    from svc.store.tx import Store, Tx

# What is seen: an account, or also what is left of one.
A = TypeVar("A", bound="Account | FormerAccount")


async def visible_account(store: Store, caller: Caller, account_id: str) -> Account:
    """The caller's account. Raises NotFound: no such account, another user's, or not one of the key's."""
    return seen(caller, await store.peek(accounts.get_account(caller.user.id, account_id)))


async def visible_or_former(store: Store, caller: Caller, account_id: str) -> Account | FormerAccount:
    """The caller's account, or what is left of it after its disconnect. Raises NotFound."""
    return seen(caller, await store.peek(_account_or_former(caller.user.id, account_id)))


async def readable_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account | FormerAccount]:
    """The caller's site, also one whose account was disconnected. Raises NotFound."""
    site, account = await store.peek(_site_and_any_account(caller.user.id, site_id))
    return site, seen(caller, account)


async def readable_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account | FormerAccount]:
    """The caller's link, also one whose account was disconnected. Raises NotFound."""
    link, account = await store.peek(_link_and_any_account(caller.user.id, link_id))
    return link, seen(caller, account)


async def visible_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account]:
    """The caller's link and its account, for what can be done to it. Raises NotFound, also once the account is gone."""
    link, account = await store.peek(_link_and_account(caller.user.id, link_id))
    return link, seen(caller, account)


def seen(caller: Caller, account: A | None) -> A:
    """A user's account, if this caller sees it. Raises NotFound, also when there is none."""
    if account is None or not caller.sees(account.edge_account_id):
        raise NotFound
    tell_lines(account=account.id)
    return account


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
