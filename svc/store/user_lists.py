"""Code shared by the lists of sites and the lists of links: the filter by user, and the number of days shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.conditions import Conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Parameter

# The number of closed UTC days before today for which a list shows views or clicks.
DAYS_SHOWN = 7


class UserConditions(Conditions):
    """The conditions on a row `t` in a user's list."""

    def __init__(
        self,
        parameters: list[Parameter],
        user_id: int,
        account_id: str | None,
        edge_accounts: Sequence[str] | None,
        *,
        deleted: bool,
    ) -> None:
        """Select rows of the user's accounts. If `deleted` is True, also select rows of disconnected accounts.

        `account_id` and `edge_accounts`: select only rows of these accounts; None means any account.
        """
        super().__init__(parameters)
        user = self.parameter(user_id)
        allowed = ""
        if edge_accounts is not None:
            allowed = f" and edge_account_id in ({', '.join(map(self.parameter, edge_accounts)) or 'null'})"
        tables = ("accounts", "former_accounts") if deleted else ("accounts",)
        seen = " union all ".join(f"select id from {table} where user_id = {user}{allowed}" for table in tables)  # noqa: S608  # names of this line and placeholders
        self.add(f"t.user_id = {user}")
        self.add(f"t.account_id in ({seen})")
        if account_id is not None:
            self.add(f"t.account_id = {self.parameter(account_id)}")
