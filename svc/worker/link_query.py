"""Parameters in the query string of a short URL, as in edge_worker/src/link_query.js. No I/O."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

# Characters that browsers do not encode in a query (URL standard, special-query percent-encode set).
_SAFE = "!$%&()*+,-./:;=?@[\\]^_`{|}~"
# The names of parameters that are not forwarded: those that only the short link uses, and the empty name.
_NOT_FORWARDED = ("q", "ref", "")


class SentParameter(NamedTuple):
    """A parameter of a query string: the text as sent, and the decoded name and value."""

    text: str
    name: str
    value: str


def parameters_of(query: str) -> list[SentParameter]:
    """Return the parameters of a query string without "?", in order (URL standard, urlencoded parsing).

    The result is the same as that of URLSearchParams, which the Worker uses.
    """
    parameters = []
    for text in query.split("&"):
        if text:
            name, _, value = text.partition("=")
            parameters.append(SentParameter(text, _decoded(name), _decoded(value)))
    return parameters


def encode_query(query: str) -> str:
    """Return a query string as browsers send it. Lone surrogates become U+FFFD."""
    return quote(_scalars(query), safe=_SAFE)


def with_query(target: str, search: str, most_chars: int) -> str:
    """Add the visitor's parameters to a target (an ASCII URL).

    If the target already has a parameter with the same name, only the target's values are kept. Parameters that would
    make the target longer than `most_chars` are omitted. `search`: the query of the short URL with "?", or "".
    """
    url, mark, fragment = target.partition("#")
    address, _, own = url.partition("?")
    names = {*_NOT_FORWARDED, *(parameter.name for parameter in parameters_of(own))}
    query = own
    left = most_chars - len(target) - 1
    for sent in parameters_of(search.removeprefix("?")):
        text = encode_query(sent.text)
        separator = "&" if query and not query.endswith("&") else ""
        if sent.name in names or len(separator + text) > left:
            continue
        query += separator + text
        left -= len(separator + text)
    return target if query == own else f"{address}?{query}{mark}{fragment}"


def _decoded(text: str) -> str:
    """Decode plus signs and percent-encoding. Bytes that are not valid UTF-8 become U+FFFD."""
    if text.isascii() and "%" not in text:
        return text.replace("+", " ")
    return unquote_to_bytes(_scalars(text.replace("+", " "))).decode("utf-8", "replace")


def _scalars(text: str) -> str:
    """Combine surrogate pairs. A lone surrogate becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
