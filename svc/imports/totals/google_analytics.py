"""Reads CSV exports of Google Analytics 4: explorations and reports by date, and charts of reports by day.

A file begins with lines that start with `#` and name the property and the period. One or more tables follow. The table
of a chart has one metric and the column `Nth day`, which counts from `# Start date: YYYYMMDD`. A table with the
dimension `Date` has days like 20260131, and may have a row with totals. Metrics have either their English names in the
web interface, or their names in the Data API (`screenPageViews`, `totalUsers`). Google does not document the format, so
it is taken from programs in public repositories that read such files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.clock import day_text
from svc.imports.reader import NotReadable
from svc.imports.totals.reading import SITES_ZONE, Reading
from svc.imports.totals.table import Wrong, numbered_rows, read_count, read_day
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc.imports.reader import Lines
    from svc.imports.totals.tally import Tally

_START = re.compile(r"#\s*Start date:\s*([0-9]{8})\s*")
_TOTALS = ("", "total", "totals", "grand total")
_NTH = re.compile(r"[0-9]{1,6}")
_VIEWS = ("views", "screenpageviews")
# Columns with visitors. The first one that exists is used. Total users are all people on the site. Active users are
# only the people who engaged with it.
_VISITORS = ("total_users", "totalusers", "active_users", "activeusers", "users")
_NO_VIEWS = (
    "the file has no views by day. In Google Analytics, open an exploration with the row `Date` and the values `Views`"
    " and `Total users`, and export it as CSV"
)
_SEVERAL = "the file has several rows for {}; export it with no other dimension than `Date`"


@dataclass
class _Metric:
    """The values of a metric by day. Each value has its line number and the number of its table."""

    values: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, day: int, value: int, line: int, table: int) -> None:
        """Add the value for a day. A file may contain the same chart twice, so the same value is accepted again.

        Raises NotReadable if the day already has a different value, or has a value in the same table (for example, for
        another page).
        """
        known = self.values.setdefault(day, (value, line, table))
        if known[0] != value or (known[2] == table and known[1] != line):
            raise NotReadable(_SEVERAL.format(day_text(day)))


def is_google_analytics(names: Sequence[str]) -> bool:
    """Return True if the columns are those of a Google Analytics export that lacks the lines before the table."""
    return "date" in names and bool({*_VIEWS} & {*names}) and bool({*_VISITORS} & {*names})


def read_google_analytics(lines: Lines, tally: Tally, names: Sequence[str] = (), delimiter: str = ",") -> Reading:
    """Add the days of a file to the tally. `names`: the table's column names, if the caller has already read that line.

    Raises NotReadable if the file has no daily views, or has several rows for a day.
    """
    metrics: dict[str, _Metric] = {}
    for line, table, day, values in _days(numbered_rows(lines, delimiter), tally, list(names)):
        for name, value in values.items():
            metrics.setdefault(name, _Metric()).add(day, value, line, table)
    views = next((name for name in _VIEWS if name in metrics), None)
    if views is None:
        raise NotReadable(_NO_VIEWS)
    visitors = next((name for name in _VISITORS if name in metrics), "")
    of_visitors = metrics[visitors].values if visitors else {}
    for day, (value, line, _) in metrics[views].values.items():
        tally.add_day(line, day, Counts(value, 0, of_visitors[day][0] if day in of_visitors else 0))
    notes = [SITES_ZONE.format("Google Analytics"), "Google Analytics excludes bots, and can estimate or omit numbers"]
    if not visitors:
        notes.append("the file has no users, so the number of visitors is 0 on these days")
    return Reading("an export of Google Analytics 4", tuple(filter(None, ("date", views, visitors))), tuple(notes))


def _days(
    rows: Iterator[tuple[int, list[str]]], tally: Tally, names: list[str]
) -> Iterator[tuple[int, int, int, dict[str, int]]]:
    """Yield the line number, table number, day and metrics of each row that describes a day.

    Raises NotReadable.
    """
    start: int | None = None
    table = 0
    for line, fields in rows:
        if not fields:
            names = []
        elif fields[0].startswith("#"):
            names = []
            match = _START.fullmatch(fields[0])
            if match is not None:
                start = _start_day(line, match[1])
        elif not names:
            table += 1
            names = [each.strip().lower().replace(" ", "_") for each in fields]
        else:
            try:
                day = _day(line, names, fields[0].strip(), start)
                if day is None or not tally.is_day(line, day):
                    continue
                values = _metrics(names, fields)
            except Wrong as wrong:
                tally.refused.add(line, str(wrong))
                continue
            yield line, table, day, values


def _metrics(names: Sequence[str], fields: Sequence[str]) -> dict[str, int]:
    """Return the values of the supported metrics in a row, by metric. Raises Wrong."""
    wanted = {name: place for place, name in enumerate(names) if name in (*_VIEWS, *_VISITORS)}
    return {
        name: read_count(name, fields[place].strip() if place < len(fields) else "") for name, place in wanted.items()
    }


def _day(line: int, names: Sequence[str], text: str, start: int | None) -> int | None:
    """Return the day of a row. Return None if the table is not by day, or if the row contains totals.

    `text`: the row's first field. `start`: the first day of the charts. Raises NotReadable or Wrong.
    """
    if names[0] == "date":
        return None if text.lower() in _TOTALS else _compact_day(text)
    if names[0] == "nth_day":
        if start is None:
            raise NotReadable(f"line {line}: the file does not contain the start date of this chart")
        if _NTH.fullmatch(text):
            return start + int(text)
        raise Wrong(f"`{text[:40]}` is not the number of a day")
    if "date" in names and {*_VIEWS} & {*names}:
        raise NotReadable(_SEVERAL.format("a day"))
    return None


def _start_day(line: int, text: str) -> int:
    """Return the first day of the charts that follow. Raises NotReadable."""
    try:
        return _compact_day(text)
    except Wrong as wrong:
        raise NotReadable(f"line {line}: {wrong}") from None


def _compact_day(text: str) -> int:
    """Return the day number of a date such as 20260131 or 2026-01-31. Raises Wrong."""
    return read_day(f"{text[:4]}-{text[4:6]}-{text[6:]}" if re.fullmatch(r"[0-9]{8}", text) else text)
