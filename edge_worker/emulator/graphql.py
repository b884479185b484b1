"""As much of GraphQL as a client of the analytics needs: one query, variables, aliases, arguments, nested fields."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|\#[^\n]*)|(?P<name>[_A-Za-z]\w*)|(?P<number>-?\d+(\.\d+)?)|(?P<text>"(\\.|[^"\\])*")"""
    r"""|(?P<sign>\.\.\.|[{}()\[\]:$!=@])""",
)


class QueryError(Exception):
    """The query cannot be read, or asks for what there is not."""


@dataclass
class Field:
    """One selected field: what it is called in the answer, its name, its arguments, what is selected of it."""

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
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            raise QueryError(f"expected {wanted or 'more'}, found {token or 'the end'}")
        self._at += 1
        return token

    def document(self) -> list[Field]:
        """The fields of the one operation; variable definitions are read for their defaults."""
        if self.peek() == "query":
            self.take()
            if self.peek() not in "({":
                self.take()
            if self.peek() == "(":
                self._definitions()
        fields = self.selection()
        if self.peek():
            raise QueryError("only one operation is read")
        return fields

    def _definitions(self) -> None:
        self.take("(")
        while self.peek() != ")":
            self.take("$")
            name = self.take()
            self.take(":")
            while self.peek() not in ("$", ")", "="):
                self.take()
            if self.peek() == "=":
                self.take()
                default = self.value()
                self._variables.setdefault(name, default)
        self.take(")")

    def selection(self) -> list[Field]:
        self.take("{")
        fields = []
        while self.peek() != "}":
            alias = name = self.take()
            if self.peek() == ":":
                self.take()
                name = self.take()
            found = Field(alias, name)
            if self.peek() == "(":
                found.arguments = self._pairs("(", ")")
            if self.peek() == "{":
                found.fields = self.selection()
            fields.append(found)
        self.take("}")
        return fields

    def _pairs(self, opening: str, closing: str) -> dict[str, Any]:
        self.take(opening)
        pairs = {}
        while self.peek() != closing:
            name = self.take()
            self.take(":")
            pairs[name] = self.value()
        self.take(closing)
        return pairs

    def value(self) -> Any:
        word = self.peek()
        if word == "{":
            return self._pairs("{", "}")
        self.take()
        if word == "$":
            name = self.take()
            if name not in self._variables:
                raise QueryError(f"variable ${name} has no value")
            return self._variables[name]
        if word == "[":
            items = []
            while self.peek() != "]":
                items.append(self.value())
            self.take("]")
            return items
        if word[0] == '"' or word[0] == "-" or word[0].isdigit():
            return json.loads(word)
        return {"true": True, "false": False, "null": None}.get(word, word)


def parse(text: str, variables: dict[str, Any]) -> list[Field]:
    """The selected fields of a query, with the variables' values put in. Raises QueryError."""
    return _Reader(_tokens(text), dict(variables)).document()
