"""Reads the parameters of a query string, as URLSearchParams does in the Worker. No I/O."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_to_bytes


class SentParameter(NamedTuple):
    """A parameter of a query string: the text as sent, and the decoded name and value."""

    text: str
    name: str
    value: str


def parameters_of(query: str) -> list[SentParameter]:
    """Return the parameters of a query string without "?", in order (URL standard, urlencoded parsing)."""
    parameters = []
    for text in query.split("&"):
        if text:
            name, _, value = text.partition("=")
            parameters.append(SentParameter(text, _decoded(name), _decoded(value)))
    return parameters


def _decoded(text: str) -> str:
    """Decode plus signs and percent-encoding. Bytes that are not valid UTF-8 become U+FFFD."""
    if text.isascii() and "%" not in text:
        return text.replace("+", " ")
    # Combine surrogate pairs. A lone surrogate becomes U+FFFD.
    scalars = text.replace("+", " ").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unquote_to_bytes(scalars).decode("utf-8", "replace")
