"""Checks that prevent the owner of a site or link from changing or recreating it after the operator has disabled it.

A disabled site or link is not in the Worker's configuration. Its row, totals and reports are kept. The checks also
cover sites and links that were created before the Cloudflare account was last connected, so that the owner cannot
bypass the checks by reconnecting the account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Forbidden
from svc.model import Disabled, Site
from svc.store.tx import Row, Tx, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Collection

    from svc.model import Link

# The maximum number of codes per statement; see `links.CODES_A_STATEMENT`.
_CODES_A_STATEMENT = 500
_SAME_EDGE_ACCOUNT = (
    "left join accounts a on a.id = t.account_id left join former_accounts f on f.id = t.account_id"
    " where t.disabled_at is not null and coalesce(a.edge_account_id, f.edge_account_id)"
    " = (select edge_account_id from accounts where id = $1)"
)


def disabled_of(row: Row) -> Disabled | None:
    """Return when and why the operator disabled the site or link in this row; None if it is enabled."""
    return None if row["disabled_at"] is None else Disabled(row["disabled_at"], row["disabled_reason"])


def check_enabled(target: Site | Link) -> None:
    """Raise Forbidden site_disabled or link_disabled if the operator has disabled the site or link."""
    if target.disabled is not None:
        raise Forbidden(
            "site_disabled" if isinstance(target, Site) else "link_disabled", details=target.disabled.details
        )


def disabled_codes(account_id: str, codes: Collection[str]) -> Tx[dict[str, Disabled]]:
    """Return those of `codes` whose links the operator has disabled, with the time and the reason.

    The owner cannot use the returned codes.
    """
    wanted = sorted(set(codes))
    by_code: dict[str, Disabled] = {}
    for first in range(0, len(wanted), _CODES_A_STATEMENT):
        some = wanted[first : first + _CODES_A_STATEMENT]
        rows = yield sql(
            f"select t.* from links t {_SAME_EDGE_ACCOUNT} and t.code in ({placeholders(len(some), first=2)})",  # noqa: S608  # text of this file
            account_id,
            *some,
        )
        for row in rows:
            disabled = disabled_of(row)
            if disabled is not None:
                by_code[row["code"]] = disabled
    return by_code


def check_fallback(account_id: str) -> Tx[None]:
    """Check that the link host may redirect unknown codes.

    The Worker treats the codes of disabled links as unknown codes, so such a redirect could lead to a disabled link's
    destination.

    Raises Forbidden link_disabled if the operator has disabled one of the account's links.
    """
    rows = yield sql(f"select t.* from links t {_SAME_EDGE_ACCOUNT} order by t.disabled_at desc limit 1", account_id)  # noqa: S608  # text of this file
    disabled = disabled_of(rows[0]) if rows else None
    if disabled is not None:
        message = "While the operator has disabled a link of this account, the link host cannot redirect unknown codes."
        raise Forbidden("link_disabled", message, disabled.details)


def disabled_host(account_id: str, host: str) -> Tx[Disabled | None]:
    """Return when and why the operator disabled a site with this host in the account; None if there is no such site."""
    rows = yield sql(f"select t.* from sites t {_SAME_EDGE_ACCOUNT} and t.host = $2", account_id, host)  # noqa: S608  # text of this file
    return disabled_of(rows[0]) if rows else None
