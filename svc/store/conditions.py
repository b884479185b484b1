"""Builds the conditions of a `where` clause together with their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Parameter


class Conditions:
    """SQL conditions that are combined with `and`. Their parameters are appended to the list `parameters`."""

    def __init__(self, parameters: list[Parameter]) -> None:
        self._parameters = parameters
        self._all: list[str] = []

    def parameter(self, value: Parameter) -> str:
        """Append a parameter and return its SQL placeholder, for example `$3`."""
        self._parameters.append(value)
        return f"${len(self._parameters)}"

    def add(self, condition: str) -> None:
        """Add a condition."""
        self._all.append(condition)

    def add_contains(self, texts: Sequence[str], *columns: str) -> None:
        """Require that one of the columns contains one of the texts, ignoring case. If `texts` is empty, do nothing."""
        if texts:
            self.add_any(self.contains(texts, *columns))

    def contains(self, texts: Sequence[str], *columns: str) -> list[str]:
        """Return a condition for each pair of a text and a column: the column contains the text, ignoring case."""
        patterns = [self.parameter(f"%{_literal(text)}%") for text in texts]
        return [f"lower({column}) like lower({each}) escape '\\'" for each in patterns for column in columns]

    def add_any(self, conditions: Sequence[str]) -> None:
        """Require at least one of these conditions."""
        self.add(f"({' or '.join(conditions)})")

    def __str__(self) -> str:
        return " and ".join(self._all) or "1 = 1"


def _literal(text: str) -> str:
    """Return the text with its wildcards escaped, for a `like` pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
