"""Reads an export as CSV: detects the encoding and the delimiter, and limits the length of rows."""

from __future__ import annotations

import codecs
import csv
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import _csv
    import io
    from collections.abc import Iterable

# The maximum length of a row. Real rows are far shorter: a page's title or URL rarely has more than a few hundred
# characters.
MAX_ROW_CHARS = 1 << 20
DELIMITERS = (",", ";", "\t", "|")
# The first bytes of a ZIP archive with files, of an empty ZIP archive, and of a gzip file.
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
GZIP = b"\x1f\x8b"
# The first line of an export for Excel, which sets the delimiter.
SEP = re.compile(r'sep=([^"\r\n])(?:\r\n|\n|\r|\Z)', re.IGNORECASE)
# Fields that count as empty, in lower case. `mysql --batch` and PostgreSQL's `copy` write the last two for null.
NULLS = ("", "null", r"\n")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class NotReadable(ValueError):
    """Raised if the file cannot be read or its format is unknown. The message gives the reason."""


class RowTooLong(ValueError):
    """Raised if a row has more than `MAX_ROW_CHARS` characters. The message contains the line number."""


class Lines:
    """The lines of a text. At most `MAX_ROW_CHARS` characters of a row are read into memory.

    `line` is the number of the last line that was read, counting from 1. Iterating raises RowTooLong. With
    `skip_long_rows`, the iterator instead returns an empty line for a row that is too long and has only one line. In
    that case, `too_long` is True until the next row.
    """

    def __init__(self, text: io.TextIOWrapper, *, skip_long_rows: bool = False) -> None:
        self._text = text
        self._skip_long_rows = skip_long_rows
        self._in_row = 0
        self.line = 0
        self.too_long = False

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        line = self._text.readline(MAX_ROW_CHARS + 1)
        if not line:
            raise StopIteration
        self.line += 1
        is_first = self._in_row == 0
        self._in_row += len(line)
        if self._in_row <= MAX_ROW_CHARS:
            return line
        if not (self._skip_long_rows and is_first and self._skip(line)):
            raise RowTooLong(f"line {self.line} belongs to a row of more than {MAX_ROW_CHARS} characters")
        self.too_long = True
        return ""

    def next_row(self) -> None:
        """Mark the start of a row. The characters of the new row are counted from 0."""
        self._in_row = 0
        self.too_long = False

    def _skip(self, line: str) -> bool:
        """Read and discard the rest of a line.

        Return True if the line's quotation marks are balanced, so that the row ends with the line.
        """
        quotes = line.count('"')
        while line and not line.endswith(("\n", "\r")):
            line = self._text.readline(MAX_ROW_CHARS)
            quotes += line.count('"')
        return quotes % 2 == 0


def csv_reader(lines: Iterable[str], delimiter: str) -> _csv.Reader:
    """Create a strict CSV reader. A field may be as long as a row.

    This sets the csv module's field size limit, which applies to the whole process.
    """
    csv.field_size_limit(MAX_ROW_CHARS)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def detect_encoding(start: bytes) -> str | None:
    """Return the encoding that the first bytes indicate, or None if it is unknown.

    A byte order mark indicates UTF-8 or UTF-16. Without a byte order mark, the bytes of an ASCII character in UTF-16
    indicate UTF-16.
    """
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return encoding
    if len(start) > 1 and start[:2].count(0) == 1:
        return "utf-16-le" if start[1] == 0 else "utf-16-be"
    return None
