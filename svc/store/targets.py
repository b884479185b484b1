"""What sites and links have in common: the paths of the link host, of which no two may be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Collection

    from svc.store.tx import Tx


# An import brings thousands; a statement of another length is another statement to both engines.
CODES_A_STATEMENT = 500


def used_codes(account_id: str, codes: Collection[str]) -> Tx[list[str]]:
    """Those of `codes` that are links of the account, in their alphabetical order."""
    wanted = sorted(set(codes))
    used: list[str] = []
    for first in range(0, len(wanted), CODES_A_STATEMENT):
        some = wanted[first : first + CODES_A_STATEMENT]
        rows = yield sql(
            "select code from links where account_id = $1 and state = 'active'"  # noqa: S608  # placeholders only
            f" and code in ({placeholders(len(some), first=2)})",
            account_id,
            *some,
        )
        used += [row["code"] for row in rows]
    return sorted(used)
