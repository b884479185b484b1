"""The subset of GraphQL that analytics clients need: one query, variables, aliases, arguments, nested fields."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|\#[^\n]*)|(?P<name>[_A-Za-z]\w*)|(?P<number>-?\d+(\.\d+)?)|(?P<text>"(\\.|[^"\\])*")"""
    r"""|(?P<sign>\.\.\.|[{}()\[\]:$!=@])""",
)


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class QueryError(Exception):
    """Raised for a query that is malformed or uses unknown names. `code` is the platform's code in `extensions`."""

    def __init__(self, message: str, code: str = "parser") -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Field:
    """One selected field: its alias, its name, its arguments and its selection."""

    alias: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    fields: list[Field] = field(default_factory=list)


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise QueryError(f"unexpected {text[at]!r}")
        at = found.end()
        if found.lastgroup != "skip" and not found["skip"]:
            tokens.append(found[0])
    return tokens


class _Reader:
    def __init__(self, tokens: list[str], variables: dict[str, Any]) -> None:
        self._tokens, self._at, self._variables = tokens, 0, variables

    def peek(self) -> str:
        """Return the next token, or "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def next(self, wanted: str | None = None) -> str:
        """Consume and return the next token. Raises QueryError at the end, or if the token is not `wanted`."""
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            raise QueryError(f"expected {wanted or 'more'}, found {token or 'the end'}")
        self._at += 1
        return token

    def document(self) -> list[Field]:
        """Parse the fields of the single operation, and the defaults of its variable definitions."""
        if self.peek() == "query":
            self.next()
            if self.peek() not in "({":
                self.next()
            if self.peek() == "(":
                self._definitions()
        fields = self.selection()
        if self.peek():
            raise QueryError("only one operation is supported")
        return fields

    def _definitions(self) -> None:
        self.next("(")
        while self.peek() != ")":
            self.next("$")
            name = self.next()
            self.next(":")
            type_ = ""
            while self.peek() not in ("$", ")", "="):
                type_ += self.next()
            if self.peek() == "=":
                self.next()
                default = self.value()
                self._variables.setdefault(name, default)
            _check_variable(name, type_, self._variables.get(name))
        self.next(")")

    def selection(self) -> list[Field]:
        """Parse the fields between two braces."""
        self.next("{")
        fields = []
        while self.peek() != "}":
            alias = name = self.next()
            if self.peek() == ":":
                self.next()
                name = self.next()
            found = Field(alias, name)
            if self.peek() == "(":
                found.arguments = self._pairs("(", ")")
            if self.peek() == "{":
                found.fields = self.selection()
            fields.append(found)
        self.next("}")
        return fields

    def _pairs(self, opening: str, closing: str) -> dict[str, Any]:
        self.next(opening)
        pairs = {}
        while self.peek() != closing:
            name = self.next()
            self.next(":")
            pairs[name] = self.value()
        self.next(closing)
        return pairs

    def value(self) -> Any:
        """Parse one value. For a variable, return its value; for an enum, return its name."""
        word = self.peek()
        if word == "{":
            return self._pairs("{", "}")
        self.next()
        if word == "$":
            name = self.next()
            if name not in self._variables:
                raise QueryError(f"variable ${name} has no value")
            return self._variables[name]
        if word == "[":
            items = []
            while self.peek() != "]":
                items.append(self.value())
            self.next("]")
            return items
        if word[0] == '"' or word[0] == "-" or word[0].isdigit():
            return json.loads(word)
        return {"true": True, "false": False, "null": None}.get(word, word)


def _check_variable(name: str, type_: str, value: Any) -> None:
    """Check that a variable is present and has its declared type, as the platform does before it runs a query."""
    if value is None:
        if type_.endswith("!"):
            raise QueryError(f"variable ${name} of required type {type_} was not provided", "validation")
        return
    wrong = type_.rstrip("!").lower() in ("string", "date", "time") and not isinstance(value, str)
    if wrong or (type_.rstrip("!") == "Date" and not _DATE.fullmatch(value)):
        raise QueryError(f"variable ${name} has an invalid value: expected type {type_}", "validation")


def parse(text: str, variables: dict[str, Any]) -> list[Field]:
    """Return the selected fields of a query with variables substituted. Raises QueryError."""
    return _Reader(_tokens(text), dict(variables)).document()
