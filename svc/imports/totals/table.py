"""Reads CSV tables. The module detects the delimiter, selects columns, and parses days and numbers."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from svc.clock import day_number
from svc.imports.reader import DELIMITERS, SEP, NotReadable, csv_reader
from svc.imports.totals.tally import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc.imports.reader import Lines

_EPOCH = date(1970, 1, 1).toordinal()
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_COUNT = re.compile(r"[0-9]{1,13}")
_NOTHING = {"", r"\N"}  # fields that stand in for a missing number


class Wrong(ValueError):
    """Raised if a line is not valid. The message gives the reason."""


def numbered_rows(lines: Lines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row with the number of the row's first line. Raises NotReadable."""
    reader = csv_reader(lines, delimiter)
    while True:
        line = lines.line + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise NotReadable(f"the row that starts in line {line} is not valid CSV: {error}") from None
        lines.next_row()
        yield line, fields


@dataclass
class Table:
    """A CSV table. Columns are selected by their names in lower case, with `_` instead of spaces."""

    lines: Lines
    names: Sequence[str]
    delimiter: str

    def rows(self, *columns: str) -> Iterator[tuple[int, list[str]]]:
        """Yield, for each row, the number of its first line and the fields of the given columns.

        A missing field is "". Raises NotReadable.
        """
        places = [self.names.index(column) if column in self.names else -1 for column in columns]
        for line, fields in numbered_rows(self.lines, self.delimiter):
            if fields:
                yield line, [fields[place].strip() if 0 <= place < len(fields) else "" for place in places]


def read_header(lines: Lines) -> Table:
    """Read the header of a table, and detect its delimiter and column names. Raises NotReadable."""
    first = next(lines, "")
    sep = SEP.match(first)
    if sep is not None:  # this line sets the delimiter for spreadsheets
        first = next(lines, "")
    lines.next_row()
    table: Table | None = None
    for delimiter in (sep[1],) if sep is not None else DELIMITERS:
        try:
            names = next(csv_reader([first], delimiter), [])
        except csv.Error:  # wrong delimiter: another character follows a quoted name
            continue
        if table is None or len(names) > len(table.names):
            table = Table(lines, [name.strip().lower().replace(" ", "_") for name in names], delimiter)
    if table is None:
        raise NotReadable(f"line {lines.line} is not valid CSV")
    return table


def read_day(text: str) -> int:
    """Parse a date and return its epoch day. Raises Wrong."""
    try:
        if _DAY.fullmatch(text):
            return day_number(text)
    except ValueError:
        pass
    raise Wrong(f"{_shown(text)} is not a date (expected YYYY-MM-DD)")


def read_day_of_moment(text: str) -> int:
    """Parse a time and return its epoch day in UTC. A time without a time zone counts as UTC. Raises Wrong."""
    try:
        if not _DAY.fullmatch(text[:10]) or text[10:11] not in {"T", " "}:
            raise ValueError
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Wrong(f"{_shown(text)} is not a time (expected a format like 2026-11-21T04:00:00Z)") from None
    return moment.toordinal() - _EPOCH


def read_count(column: str, text: str, missing: int | None = None) -> int:
    """Parse a count.

    For an empty field, the function returns `missing`, or raises Wrong if `missing` is None. It also raises Wrong if
    the count is not valid.
    """
    if missing is not None and text in _NOTHING:
        return missing
    if _COUNT.fullmatch(text) and int(text) <= LARGEST:
        return int(text)
    raise Wrong(f"{column} is {_shown(text)}, but must be a whole number from 0 to {LARGEST}")


def _shown(text: str) -> str:
    return f"`{text[:40]}`" if text else "missing"
