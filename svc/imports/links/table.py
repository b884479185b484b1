"""Reads exports of short links as tables, and detects their encoding, delimiter and columns.

Files are read row by row, so they can be large. Columns are recognized by name. To support another product, add its
column names here and in docs/use/import-links.md.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from svc.api.export import FORMULA_STARTS
from svc.imports.links.options import OPTIONS, PERIOD
from svc.imports.links.restrictions import UNRESTRICTED, Restricted, Restrictions
from svc.imports.links.texts import NO_TEXTS, NOTES, TAGS, TITLES, Texts, read_texts
from svc.imports.reader import (
    DELIMITERS,
    GZIP,
    MAX_ROW_CHARS,
    SEP,
    ZIP,
    Lines,
    NotReadable,
    RowTooLong,
    csv_reader,
    detect_encoding,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from pathlib import Path

# Column names in lower case, reduced to letters and digits. If several columns match, the first name in this tuple is
# used. The web application also uses these names and those in the other modules of this package; see svc/web/wire.py.
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
RULES = ("rules",)
# Only exports of this service have both of these columns. In other exports, the column `state` contains a restriction
# (restrictions.STATES).
EDGE_ACCOUNT = "edgeaccountid"
STATE = "state"
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Row:
    """A row of the file. `line` is the number of the line on which it starts. A missing code or URL is "".

    `rules`: a JSON list, or None if the file has no column for rules. Only this service's exports set `edge_account_id`
    and `deleted`. Only other products' exports set `restricted`. `texts`: the title, the note and the tags. `options`:
    the texts of the other fields for which the file has a column. `fault`: the reason why the row cannot be used, or
    "".
    """

    line: int
    code: str
    url: str
    rules: str | None = None
    edge_account_id: str | None = None
    deleted: bool = False
    restricted: Restricted = UNRESTRICTED
    texts: Texts = NO_TEXTS
    options: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class Table:
    """The column names and the rows of a file.

    `rows` can be iterated only once, and the iteration can raise NotReadable.

    `restrictions`: the columns in which another product marks restricted links. `texts`: the columns with titles, notes
    and tags. `options`: the columns with rules and options.
    """

    code_column: str
    url_column: str
    restrictions: tuple[str, ...]
    texts: tuple[str, ...]
    options: tuple[str, ...]
    rows: Generator[Row]

    def close(self) -> None:
        """End an unfinished iteration over the rows. Call this before the file is closed."""
        self.rows.close()


@contextmanager
def open_seekable(path: Path) -> Iterator[IO[bytes]]:
    """Return a context manager that opens the file, so that the caller can seek in it.

    A pipe is first copied to a temporary file. Raises OSError.
    """
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("rb"))
        if not file.seekable():
            spooled = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(file, spooled)
            file = spooled
        yield file


def read_table(file: IO[bytes], now: int) -> Table:
    """Read the header of an export of links. The rows are read only when `rows` is iterated.

    `file` must be seekable. `now`: the current time in epoch ms, which determines which links have expired. Raises
    NotReadable if the file is not text or CSV, or has no columns for codes and destinations.
    """
    encoding = _encoding(file)
    with _text(file, encoding) as text:
        start = text.read(MAX_ROW_CHARS)
    if start.lstrip()[:1] in {"{", "["}:
        raise NotReadable("the file is JSON, but must be CSV; docs/use/import-links.md shows how to convert it")
    sep = SEP.match(start)
    first_line = 1 if sep is None else 2
    best: list[str] = []
    first_error: csv.Error | None = None
    for delimiter in DELIMITERS if sep is None else (sep[1],):
        try:
            names = next(csv_reader(io.StringIO(start[sep.end() if sep else 0 :], newline=""), delimiter), [])
        except csv.Error as error:
            # The delimiter may be wrong: csv raises this error if anything except the delimiter follows a quoted name.
            first_error = first_error or error
            continue
        plain = [_plain(name) for name in names]
        columns = _columns(plain)
        if columns is None:
            best = max(best, names, key=len)
            continue
        # Exports of this service have a column for the state, which marks deleted links, and no columns with
        # restrictions.
        restrictions = Restrictions(names, [""] * len(plain) if columns.state is not None else plain, now)
        restricting = restrictions.columns if columns.state is None else (names[columns.state].strip(),)
        by = [names[place].strip() for place in (columns.code, columns.short) if place is not None]
        texts = [names[place].strip() for place in (columns.title, columns.note, columns.tags) if place is not None]
        ruling = [columns.rules] if columns.rules is not None else []
        options = [names[place].strip() for place in (*ruling, *columns.options.values())]
        rows = _rows(file, encoding, delimiter, first_line, columns, len(names), restrictions)
        return Table(by[0], names[columns.url].strip(), restricting, tuple(texts), tuple(options), rows)
    if not best and first_error is not None:
        raise _invalid_csv(first_line, first_error)
    raise NotReadable(_unknown_columns(best))


def _unknown_columns(names: Sequence[str]) -> str:
    """Return the error message for a first line without known columns. The message says how to fix the file."""
    named = ", ".join(name.strip()[:40] for name in names[:20]) or "none"
    if any(_ADDRESS.match(name.strip()) for name in names):
        return (
            f"the first line must contain the column names, but contains a link: {named}. Export the table with column"
            ' names (phpMyAdmin: "Put columns names in the first row"), or add a first line such as `code,url` with a'
            " name for each column."
        )
    return (
        f"the first line has no known columns for codes and destinations: {named}. Name the two columns `code` and"
        " `url`."
    )


class _Columns(NamedTuple):
    """The positions of the columns.

    `code` or `short` may be None. Only exports of this service have `edge_account_id` and `state`. `options`: the
    positions of the columns with options, by field of the link.
    """

    code: int | None
    short: int | None
    url: int
    rules: int | None
    edge_account_id: int | None
    state: int | None
    title: int | None
    note: int | None
    tags: int | None
    options: Mapping[str, int]


def _rows(
    file: IO[bytes],
    encoding: str,
    delimiter: str,
    header_line: int,
    columns: _Columns,
    width: int,
    restrictions: Restrictions,
) -> Generator[Row]:
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
                    raise _invalid_csv(line, error) from None
                if lines.too_long:
                    yield Row(line, "", "", fault=f"the row has more than {MAX_ROW_CHARS} characters")
                elif any(fields):
                    yield _row(line, [field.strip() for field in fields] + [""] * width, columns, restrictions)
        except RowTooLong as error:
            raise NotReadable(f"{error}; check for a missing quotation mark before it") from None


def _row(line: int, padded: list[str], columns: _Columns, restrictions: Restrictions) -> Row:
    code = "" if columns.code is None else padded[columns.code]
    if code == "" and columns.short is not None:
        code = _code_from_url(padded[columns.short])
    return Row(
        line,
        code,
        padded[columns.url],
        rules=None if columns.rules is None else padded[columns.rules],
        edge_account_id=None if columns.edge_account_id is None else padded[columns.edge_account_id],
        deleted=columns.state is not None and padded[columns.state] == "deleted",
        restricted=restrictions.read(padded),
        texts=read_texts(*_texts(padded, columns)),
        options={name: padded[place] for name, place in columns.options.items()},
    )


def _texts(padded: Sequence[str], columns: _Columns) -> Iterator[str | None]:
    """Yield the title, the note and the tags of a row. A value is None if the file has no such column."""
    for place in (columns.title, columns.note, columns.tags):
        text = None if place is None else padded[place]
        # The exports of this service have an apostrophe before a text that a spreadsheet would take for a formula.
        is_escaped = text is not None and text[:1] == "'" and text[1:2] in FORMULA_STARTS
        yield text[1:] if text and is_escaped and columns.edge_account_id is not None else text


def _invalid_csv(line: int, error: csv.Error) -> NotReadable:
    """Return the error for an invalid row. `line`: the number of the row's first line.

    A missing quotation mark is detected only many lines later, so the number of the last line would not help the user
    find it.
    """
    return NotReadable(f"the row that starts in line {line} is not valid CSV: {error}")


def _columns(plain: Sequence[str]) -> _Columns | None:
    def first(*known: str) -> int | None:
        return next((plain.index(name) for name in known if name in plain), None)

    code, short, url = first(*CODES), first(*SHORT_ADDRESSES), first(*ADDRESSES)
    if url is None or (code is None and short is None):
        return None
    edge = first(EDGE_ACCOUNT)
    state = None if edge is None else first(STATE)
    fields = OPTIONS if state is None else {**OPTIONS, **PERIOD}
    options = {field: plain.index(name) for name, field in fields.items() if name in plain}
    return _Columns(code, short, url, first(*RULES), edge, state, first(*TITLES), first(*NOTES), first(*TAGS), options)


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def _code_from_url(short_address: str) -> str:
    """Return the code in a short URL, with or without scheme and query. Return text that is not a URL unchanged.

    Example: `abc` for `https://sho.rt/abc?x`.
    """
    rest = short_address.partition("://")[2] or short_address
    if "/" not in rest:
        return rest
    return re.split(r"[?#]", rest.partition("/")[2], maxsplit=1)[0]


def _encoding(file: IO[bytes]) -> str:
    """Return the encoding that the first bytes indicate.

    If they indicate none, return UTF-8 if the whole file is valid UTF-8, otherwise Windows-1252.

    Raises NotReadable if the file is not text.
    """
    file.seek(0)
    start = file.read(4)
    if start.startswith((*ZIP, GZIP)):
        raise NotReadable("the file is a spreadsheet or compressed; save it as CSV, or decompress it first")
    detected = detect_encoding(start)
    for encoding in ("utf-8", "cp1252") if detected is None else (detected,):
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
            raise NotReadable(f"line {_line_of_nul(file)} contains a NUL character; the file is damaged, or not text")
    raise NotReadable("the file is not text in UTF-8, UTF-16 or Windows-1252")


def _line_of_nul(file: IO[bytes]) -> int:
    """Return the line number of the first NUL character."""
    line = 1
    with _text(file, "latin-1") as text:
        while "\0" not in (part := text.readline(_CHUNK_BYTES)):
            line += part.endswith(("\n", "\r"))
    return line


@contextmanager
def _text(file: IO[bytes], encoding: str) -> Iterator[io.TextIOWrapper]:
    """Return a context manager that yields `file` as text from its start, with unchanged line breaks.

    `file` stays open afterwards.
    """
    file.seek(0)
    text = io.TextIOWrapper(cast("io.BufferedReader", file), encoding, newline="")
    try:
        yield text
    finally:
        text.detach()
