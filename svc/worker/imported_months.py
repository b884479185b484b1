"""Imported months: rows of the Worker's table `month` with the breakdowns of another product. No I/O.

The Worker does not add up the months before its installation, and never changes rows of targets without counts. The
service can therefore write the rows of these months itself. It marks them with `imported`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from svc.worker.breakdowns import OTHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc.model import Counts, Dimension
    from svc.worker.breakdowns import Cap
    from svc.worker.months import MonthState
    from svc.worker.rows import Statement

# The size of the entry `(other)` with a large count, in bytes.
_OTHER_BYTES = 20
# If a row is too large, the limits of its lists are multiplied by this number until the row fits.
_SMALLER = 0.8
# The maximum number of rows in one statement. A row has at most 8,600 bytes, and twice as many in hex. D1 allows 2 MB
# per parameter and 100 parameters per statement.
_ROWS_A_STATEMENT = 30


class MonthLimits(NamedTuple):
    """The limits of a month's row: its maximum size in bytes, and the limits of each breakdown."""

    bytes: int
    lists: Mapping[Dimension, Cap]


def encode_month(
    first_day: int, counts: Counts, lists: Mapping[Dimension, Mapping[str, int]], limits: MonthLimits
) -> str:
    """Return the JSON of the row of an imported month, in the Worker's format.

    `first_day`: the first day (day number) with imported counts. `counts`: the sums of the imported days. Each list
    keeps its largest entries within `limits`. The other entries are added to `(other)`.
    """
    share = 1.0
    while True:
        kept = {name: _largest(tally, limits.lists[name], share) for name, tally in lists.items()}
        row = {"from": first_day, "views": counts.views, "visitors": counts.visitors, "imported": True}
        text = json.dumps(
            {**row, **{name: tally for name, tally in kept.items() if tally}}, ensure_ascii=False, separators=(",", ":")
        )
        if len(text.encode()) <= limits.bytes:
            return text
        share *= _SMALLER


def write_statements(target_id: str, rows: Mapping[int, str]) -> list[Statement]:
    """Return parameterized statements that write the rows of a site. The statements are idempotent.

    `rows`: the JSON of each row, by month. Rows that the Worker wrote are not changed. The JSON is sent in hex, so that
    the firewall of Cloudflare's API does not mistake page names for attacks.
    """
    entries = sorted(rows.items())
    chunks = [entries[first : first + _ROWS_A_STATEMENT] for first in range(0, len(entries), _ROWS_A_STATEMENT)]
    return [_upsert(target_id, chunk) for chunk in chunks]


def kept_months(months: Iterable[int], state: MonthState | None, first_kept: int | None) -> list[int]:
    """Return those of `months` that are recent enough for the Worker to keep them.

    `state`: None if the Worker has not run yet. `first_kept`: the oldest month that the account keeps. None means that
    it keeps all months.
    """
    first = max(0 if first_kept is None else first_kept, 0 if state is None else state.kept_from)
    return [month for month in months if month >= first]


def _upsert(target_id: str, rows: Sequence[tuple[int, str]]) -> Statement:
    numbers = range(2, 2 * len(rows) + 2, 2)
    values = ", ".join(f"(cast(?{n} as integer), ?1, cast(unhex(?{n + 1}) as text))" for n in numbers)
    text = (
        f"insert into month (month, target, totals) values {values} on conflict (month, target) do update"  # noqa: S608  # placeholders
        " set totals = excluded.totals where month.totals ->> 'imported' = 1 and month.totals <> excluded.totals"
    )
    return text, [target_id, *(field for month, row in rows for field in (str(month), row.encode().hex()))]


def _largest(tally: Mapping[str, int], cap: Cap, share: float) -> dict[str, int]:
    most, left = int(cap.keys * share), cap.bytes * share - _OTHER_BYTES
    kept: dict[str, int] = {}
    other = 0
    for key, n in sorted(tally.items(), key=lambda entry: (-entry[1], entry[0])):
        size = len(f"{json.dumps(key, ensure_ascii=False)}:{n},".encode())
        if key != OTHER and len(kept) < most and size <= left:
            kept[key] = n
            left -= size
        else:
            other += n
    return {**kept, OTHER: other} if other else kept
