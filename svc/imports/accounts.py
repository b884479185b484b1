"""Finds the accounts that the options `--account` and `--user` select."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store import accounts, users

if TYPE_CHECKING:
    from svc.model import Account
    from svc.store.tx import Tx


def accounts_meant(account_id: str | None, email: str | None) -> Tx[list[Account]]:
    """Return the accounts that match the given options.

    Without `account_id`, return all accounts of the user with this email address.
    """
    user_id = None
    if email is not None:
        user_and_hash = yield from users.find_user(email)
        if user_and_hash is None:
            return []
        user_id = user_and_hash[0].id
    if account_id is not None:
        account = yield from accounts.account_by_id(account_id)
        return [] if account is None or user_id not in (None, account.user_id) else [account]
    return [] if user_id is None else (yield from accounts.list_accounts(user_id))
