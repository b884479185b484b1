"""What lists of sites and of links have in common: whose rows they have, what these contain, the week that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Parameter

# The closed UTC days before today whose views and clicks a list shows.
DAYS_SHOWN = 7


class Conditions:
    """The conditions on a row `t` of a user's list; their parameters are put behind those that are there."""

    def __init__(
        self,
        parameters: list[Parameter],
        user_id: int,
        account_id: str | None,
        edge_accounts: Sequence[str] | None,
        *,
        deleted: bool,
    ) -> None:
        """Only rows of accounts that are seen; the deleted ones also of accounts that were disconnected.

        `account_id`, `edge_accounts`: only of these; None: of any account.
        """
        self._parameters = parameters
        user = self.parameter(user_id)
        allowed = ""
        if edge_accounts is not None:
            allowed = f" and edge_account_id in ({', '.join(map(self.parameter, edge_accounts)) or 'null'})"
        tables = ("accounts", "former_accounts") if deleted else ("accounts",)
        seen = " union all ".join(f"select id from {table} where user_id = {user}{allowed}" for table in tables)  # noqa: S608  # names of this line and placeholders
        self._all = [f"t.user_id = {user}", f"t.account_id in ({seen})"]
        if account_id is not None:
            self.add(f"t.account_id = {self.parameter(account_id)}")

    def parameter(self, value: Parameter) -> str:
        """The place of one more parameter: `$3`."""
        self._parameters.append(value)
        return f"${len(self._parameters)}"

    def add(self, condition: str) -> None:
        """One more condition."""
        self._all.append(condition)

    def add_contains(self, texts: Sequence[str], *columns: str) -> None:
        """One of the columns contains one of the texts, whatever the capitals; no texts: any row does."""
        if texts:
            patterns = [self.parameter(f"%{_literal(text)}%") for text in texts]
            likes = [f"lower(t.{of}) like lower({each}) escape '\\'" for each in patterns for of in columns]
            self.add(f"({' or '.join(likes)})")

    def __str__(self) -> str:
        return " and ".join(self._all)


def _literal(text: str) -> str:
    """A text in a pattern of `like`, in which nothing is a wildcard."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
