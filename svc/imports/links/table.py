"""Exports of short links as tables: their encoding, delimiter and columns are found out.

A file is read row by row, however large it is. Columns are known by their names, so one product's export needs no more
than its names here (docs/import.md).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from svc.imports.links.restrictions import UNRESTRICTED, Restricted, Restrictions
from svc.imports.reader import (
    DELIMITERS,
    GZIP,
    MOST_IN_A_ROW,
    SEP,
    ZIP,
    Lines,
    NotReadable,
    RowTooLong,
    csv_reader,
    encoding_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# In lower case, letters and digits only; of several columns that fit the first name here counts. The web application
# has these names, and those of restrictions.py, through svc/web/wire.py.
ADDRESSES = ("longurl", "destinationurl", "destination", "originalurl", "targeturl", "target", "url")
CODES = (
    "code",
    "keyword",
    "shortcode",
    "slug",
    "backhalf",
    "custombackhalf",
    "key",
    "address",
    "alias",
    "slashtag",
    "path",
)
SHORT_ADDRESSES = ("shorturl", "shortlink", "bitlink", "link", "short")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Row:
    """A row of the file; `line` is where it begins, from 1. A code or an address that is not there is "".

    `rules`: a JSON list; None where the file has no such column. `edge_account_id`, `deleted`: of an export of this
    service. `restricted`: of an export of another product. `fault`: why nothing of the row can be used.
    """

    line: int
    code: str
    url: str
    rules: str | None = None
    edge_account_id: str | None = None
    deleted: bool = False
    restricted: Restricted = UNRESTRICTED
    fault: str = ""


@dataclass(frozen=True)
class Table:
    """The names of the columns that are read, and the rows, which can be iterated once. Iterating raises NotReadable.

    `restrictions`: the columns in which another product marks links that did not work for everybody.
    """

    code_column: str
    url_column: str
    restrictions: tuple[str, ...]
    rows: Iterator[Row]


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, seekable: the content of a pipe is copied to a temporary file. Raises OSError."""
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("rb"))
        if not file.seekable():
            spooled = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(file, spooled)
            file = spooled
        yield file


def read_table(file: IO[bytes], now: int) -> Table:
    """The links of an export, read row by row while `rows` is iterated.

    `file` must be seekable; `now`, epoch ms, decides which links are expired. Raises NotReadable: it is no text, no
    CSV, or has no columns for codes and addresses.
    """
    encoding = _encoding(file)
    with _text(file, encoding) as text:
        start = text.read(MOST_IN_A_ROW)
    if start.lstrip()[:1] in {"{", "["}:
        raise NotReadable("it is JSON, and this command reads CSV; docs/import.md shows how to convert it")
    sep = SEP.match(start)
    first_line = 1 if sep is None else 2
    best: list[str] = []
    wrong: csv.Error | None = None
    for delimiter in DELIMITERS if sep is None else (sep[1],):
        try:
            names = next(csv_reader(io.StringIO(start[sep.end() if sep else 0 :], newline=""), delimiter), [])
        except csv.Error as error:
            # A quoted name that is followed by the real delimiter is an error for every other one.
            wrong = wrong or error
            continue
        plain = [_plain(name) for name in names]
        columns = _columns(plain)
        if columns is None:
            best = max(best, names, key=len)
            continue
        # An export of this service marks deleted links by their state, and has no other restrictions.
        restrictions = Restrictions(names, [""] * len(plain) if columns.state is not None else plain, now)
        restricting = restrictions.columns if columns.state is None else (names[columns.state].strip(),)
        by = [names[place].strip() for place in (columns.code, columns.short) if place is not None]
        rows = _rows(file, encoding, delimiter, first_line, columns, len(names), restrictions)
        return Table(by[0], names[columns.url].strip(), restricting, rows)
    if not best and wrong is not None:
        raise _no_csv(first_line, wrong)
    raise NotReadable(_unknown_columns(best))


def _unknown_columns(names: Sequence[str]) -> str:
    """What is wrong with a first line that names no known columns, and what to do."""
    named = ", ".join(name.strip()[:40] for name in names[:20]) or "none"
    if any(_ADDRESS.match(name.strip()) for name in names):
        return (
            f"its first line must name the columns, and holds a link instead: {named}. Export the table with column"
            ' names (phpMyAdmin: "Put columns names in the first row"), or add a first line such as `code,url` that'
            " names each column."
        )
    return (
        "no columns for codes and addresses are known among those of its first line:"
        f" {named}. Rename them to `code` and `url`."
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


def _rows(
    file: IO[bytes],
    encoding: str,
    delimiter: str,
    header_line: int,
    columns: _Columns,
    width: int,
    restrictions: Restrictions,
) -> Iterator[Row]:
    with _text(file, encoding) as text:
        lines = Lines(text, skip_long_rows=True)
        try:
            for _ in range(1, header_line):
                next(lines)
                lines.next_row()
            reader = csv_reader(lines, delimiter)
            next(reader)
            while True:
                lines.next_row()
                line = lines.line + 1
                try:
                    fields = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    raise _no_csv(line, error) from None
                if lines.too_long:
                    yield Row(line, "", "", fault=f"the row has more than {MOST_IN_A_ROW} characters")
                elif any(fields):
                    yield _row(line, [field.strip() for field in fields] + [""] * width, columns, restrictions)
        except RowTooLong as error:
            raise NotReadable(f"{error}: is a quotation mark missing before it?") from None


def _row(line: int, padded: list[str], columns: _Columns, restrictions: Restrictions) -> Row:
    code = "" if columns.code is None else padded[columns.code]
    if code == "" and columns.short is not None:
        code = _code_of(padded[columns.short])
    return Row(
        line,
        code,
        padded[columns.url],
        rules=None if columns.rules is None else padded[columns.rules],
        edge_account_id=None if columns.edge_account_id is None else padded[columns.edge_account_id],
        deleted=columns.state is not None and padded[columns.state] == "deleted",
        restricted=restrictions.of(padded),
    )


def _no_csv(line: int, error: csv.Error) -> NotReadable:
    """`line` is where the row begins: a quote that is not closed is there, and is noticed many lines later."""
    return NotReadable(f"the row that begins in line {line} is no CSV: {error}")


def _columns(plain: Sequence[str]) -> _Columns | None:
    def first(*known: str) -> int | None:
        return next((plain.index(name) for name in known if name in plain), None)

    code, short, url = first(*CODES), first(*SHORT_ADDRESSES), first(*ADDRESSES)
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


def _encoding(file: IO[bytes]) -> str:
    """The encoding of all of the file: by its byte order mark, else UTF-8, else that of Western spreadsheets.

    Raises NotReadable: it is no text.
    """
    file.seek(0)
    start = file.read(4)
    if start.startswith((*ZIP, GZIP)):
        raise NotReadable("it is a spreadsheet or a compressed file: save it as CSV, or unpack it first")
    found = encoding_of(start)
    for encoding in ("utf-8", "cp1252") if found is None else (found,):
        decoder = codecs.getincrementaldecoder(encoding)()
        file.seek(0)
        try:
            while chunk := file.read(_CHUNK_BYTES):
                if "\0" in decoder.decode(chunk):
                    break
            else:
                decoder.decode(b"", final=True)
                return encoding
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8":
            raise NotReadable(f"line {_line_of_nul(file)} holds a NUL character: the file is damaged, or no text")
    raise NotReadable("it is no text in UTF-8, UTF-16 or Windows-1252")


def _line_of_nul(file: IO[bytes]) -> int:
    """In which line the first NUL of the file is."""
    line = 1
    with _text(file, "latin-1") as text:
        while "\0" not in (part := text.readline(_CHUNK_BYTES)):
            line += part.endswith(("\n", "\r"))
    return line


@contextmanager
def _text(file: IO[bytes], encoding: str) -> Iterator[io.TextIOWrapper]:
    """The file from its start as text, with its line ends as they are; it stays open."""
    file.seek(0)
    text = io.TextIOWrapper(cast("io.BufferedReader", file), encoding, newline="")
    try:
        yield text
    finally:
        text.detach()
