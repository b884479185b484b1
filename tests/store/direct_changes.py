"""Transactions that change rows directly, for tests that would otherwise need many steps to reach a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.model import AccountState
    from svc.store.tx import Tx


def set_account_state(account_id: str, state: AccountState) -> Tx[None]:
    """Set an account's state without recording the change in the user's events."""
    yield sql("update accounts set state = $2 where id = $1", account_id, state)


def delete_account_row(account_id: str) -> Tx[None]:
    """Delete an account without disconnecting it."""
    yield sql("delete from accounts where id = $1", account_id)


def delete_operations(account_id: str) -> Tx[None]:
    """Delete all operations of an account, as if they had ended long ago."""
    yield sql("delete from operations where account_id = $1", account_id)


def confirm_address(user_id: int) -> Tx[None]:
    """Mark a user's email address as confirmed."""
    yield sql("update users set email_confirmed = 1 where id = $1", user_id)


def disable_user(user_id: int) -> Tx[None]:
    """Disable a user, as an operator can."""
    yield sql("update users set disabled_at = 1 where id = $1", user_id)


def disable_site(site_id: str) -> Tx[None]:
    """Disable a site, as an operator can."""
    yield sql("update sites set disabled_at = 1, disabled_reason = 'x' where id = $1", site_id)
