"""Code shared by the lists of sites and of links: filters by user and text, and the number of days shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Parameter

# The number of closed UTC days before today for which a list shows views or clicks.
DAYS_SHOWN = 7


class Conditions:
    """The SQL conditions on a row `t` in a user's list. Their parameters are appended to the list `parameters`."""

    def __init__(
        self,
        parameters: list[Parameter],
        user_id: int,
        account_id: str | None,
        edge_accounts: Sequence[str] | None,
        *,
        deleted: bool,
    ) -> None:
        """Select rows of the user's accounts. If `deleted` is set, also select rows of disconnected accounts.

        `account_id` and `edge_accounts`: select only rows of these accounts; None means any account.
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
        """Append a parameter and return its placeholder, for example `$3`."""
        self._parameters.append(value)
        return f"${len(self._parameters)}"

    def add(self, condition: str) -> None:
        """Add a condition."""
        self._all.append(condition)

    def add_contains(self, texts: Sequence[str], *columns: str) -> None:
        """Require that one of the columns contains one of the texts, ignoring case. Without texts, does nothing."""
        if texts:
            patterns = [self.parameter(f"%{_literal(text)}%") for text in texts]
            likes = [f"lower(t.{column}) like lower({each}) escape '\\'" for each in patterns for column in columns]
            self.add(f"({' or '.join(likes)})")

    def __str__(self) -> str:
        return " and ".join(self._all)


def _literal(text: str) -> str:
    """Return the text with its wildcards escaped, for a `like` pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
