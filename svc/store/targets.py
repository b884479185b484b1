"""What sites and links have in common as rows of a user: which are listed, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc.store.tx import placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from svc.store.tx import Parameter, Statement, Tx


# An import brings thousands; a statement of another length is another statement to both engines.
_CODES_A_STATEMENT = 500


def used_codes(account_id: str, codes: Collection[str]) -> Tx[list[str]]:
    """Those of `codes` that are links of the account, in their alphabetical order."""
    wanted = sorted(set(codes))
    used: list[str] = []
    for first in range(0, len(wanted), _CODES_A_STATEMENT):
        some = wanted[first : first + _CODES_A_STATEMENT]
        rows = yield sql(
            "select code from links where account_id = $1 and state = 'active'"  # noqa: S608  # placeholders only
            f" and code in ({placeholders(len(some), first=2)})",
            account_id,
            *some,
        )
        used += [row["code"] for row in rows]
    return sorted(used)


def listing(
    table: Literal["sites", "links"],
    user_id: int,
    account_id: str | None,
    edge_accounts: Sequence[str] | None,
    limit: int,
    cursor: str | None,
) -> Statement:
    """A page of a user's `table` without the deleted, oldest first; only of accounts that are still connected.

    `account_id` and `edge_accounts` narrow it when given; `cursor` is the id of the last one of the page before (one
    that is not the user's gives an empty page).
    """
    parameters: list[Parameter] = [user_id]
    seen = "select id from accounts where user_id = $1"
    if edge_accounts is not None:
        seen += f" and edge_account_id in ({placeholders(len(edge_accounts), first=2)})"
        parameters.extend(edge_accounts)
    conditions = ["t.user_id = $1", "t.state <> 'deleted'", f"t.account_id in ({seen})"]
    if account_id is not None:
        parameters.append(account_id)
        conditions.append(f"t.account_id = ${len(parameters)}")
    if cursor is not None:
        parameters.append(cursor)
        last = f"select created_at, id from {table} where id = ${len(parameters)} and user_id = $1"  # noqa: S608  # a name of this file and placeholders
        conditions.append(f"(t.created_at, t.id) > ({last})")
    parameters.append(limit)
    text = (
        f"select t.* from {table} t where {' and '.join(conditions)}"  # noqa: S608  # names of this file and placeholders
        f" order by t.created_at, t.id limit ${len(parameters)}"
    )
    return sql(text, *parameters)
