"""Exports of short links as tables: their encoding, delimiter and columns are found out. Pure.

Columns are known by their names, so one product's export needs no more than its names here (docs/import.md).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import _csv
    from collections.abc import Iterator, Sequence

# In lower case, letters and digits only; of several columns that fit the first name here counts.
_ADDRESSES = ("longurl", "destinationurl", "destination", "originalurl", "targeturl", "target", "url")
_CODES = ("code", "keyword", "shortcode", "slug", "backhalf", "custombackhalf", "key", "address", "alias")
_SHORT_ADDRESSES = ("shorturl", "shortlink", "bitlink", "link", "short")
DELIMITERS = (",", ";", "\t", "|")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
SEP = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)


class NotATable(ValueError):
    """The file cannot be read; the message says why."""


@dataclass(frozen=True)
class Row:
    """A row of the file; `line` is where it begins, from 1. A code or an address that is not there is "".

    `rules`: a JSON list; None where the file has no such column. `edge_account_id`, `deleted`: of an export of this
    service.
    """

    line: int
    code: str
    url: str
    rules: str | None = None
    edge_account_id: str | None = None
    deleted: bool = False


@dataclass(frozen=True)
class Table:
    """The rows, and the names of the columns that they are from."""

    code_column: str
    url_column: str
    rows: tuple[Row, ...]


def read_table(raw: bytes) -> Table:
    """The links of an export. Raises NotATable: no text, no CSV, or without the columns that are needed."""
    text = _decoded(raw)
    skipped = 0
    delimiters: Sequence[str] = DELIMITERS
    sep = SEP.match(text)
    if sep is not None:  # how spreadsheets are told the delimiter
        text, delimiters, skipped = text[sep.end() :], (sep[1],), 1
    header: list[str] = []
    for delimiter in delimiters:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            names = next(reader, [])
        except csv.Error as error:
            raise _no_csv(1 + skipped, error) from None
        columns = _columns(names)
        if columns is not None:
            rows = tuple(_rows(reader, columns, len(names), skipped))
            by = [names[place].strip() for place in (columns.code, columns.short) if place is not None]
            return Table(by[0], names[columns.url].strip(), rows)
        header = max(header, names, key=len)
    named = ", ".join(name.strip()[:40] for name in header[:20]) or "none"
    raise NotATable(
        f"no columns for codes and addresses are known among those of its first line: {named}. A file of one's own"
        " begins with the line `code,url`."
    )


class _Columns(NamedTuple):
    """Where a row has its code, its short address (one of the two may not be there), its address, and what only an
    export of this service has."""

    code: int | None
    short: int | None
    url: int
    rules: int | None
    edge_account_id: int | None
    state: int | None


def _rows(reader: _csv.Reader, columns: _Columns, width: int, skipped: int) -> Iterator[Row]:
    while True:
        line = reader.line_num + skipped + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _no_csv(line, error) from None
        if any(fields):
            padded = [field.strip() for field in fields] + [""] * width
            code = "" if columns.code is None else padded[columns.code]
            if code == "" and columns.short is not None:
                code = _code_of(padded[columns.short])
            yield Row(
                line,
                code,
                padded[columns.url],
                rules=None if columns.rules is None else padded[columns.rules],
                edge_account_id=None if columns.edge_account_id is None else padded[columns.edge_account_id],
                deleted=columns.state is not None and padded[columns.state] == "deleted",
            )


def _no_csv(line: int, error: csv.Error) -> NotATable:
    """`line` is where the row begins: a quote that is not closed is there, and is noticed many lines later."""
    return NotATable(f"the row that begins in line {line} is no CSV: {error}")


def _columns(names: Sequence[str]) -> _Columns | None:
    plain = [_plain(name) for name in names]

    def first(*known: str) -> int | None:
        return next((plain.index(name) for name in known if name in plain), None)

    code, short, url = first(*_CODES), first(*_SHORT_ADDRESSES), first(*_ADDRESSES)
    if url is None or (code is None and short is None):
        return None
    edge = first("edgeaccountid")
    return _Columns(code, short, url, first("rules"), edge, None if edge is None else first("state"))


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _code_of(short_address: str) -> str:
    """`abc` of `https://sho.rt/abc?x` and of `sho.rt/abc`; what is no address stays as it is."""
    rest = short_address.partition("://")[2] or short_address
    if "/" not in rest:
        return rest
    return re.split(r"[?#]", rest.partition("/")[2], maxsplit=1)[0]


def encoding_of(start: bytes) -> str | None:
    """A file's encoding by its byte order mark, or by how UTF-16 has an ASCII letter at its start; None: neither."""
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return encoding
    if len(start) > 1 and start[:2].count(0) == 1:
        return "utf-16-le" if start[1] == 0 else "utf-16-be"
    return None


def _decoded(raw: bytes) -> str:
    """The text by its byte order mark, else as UTF-8, else as spreadsheets of the West write it."""
    told = encoding_of(raw)
    for encoding in ("utf-8", "cp1252") if told is None else (told,):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
        if encoding == "utf-8":
            line = len(text[: text.index("\0") + 1].splitlines())
            raise NotATable(f"line {line} holds a NUL character: the file is damaged, or no text")
    raise NotATable("it is no text in UTF-8, UTF-16 or Windows-1252")
