"""Functions that import links and return the rejected rows as a list."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from svc.imports.links.run import Report, import_links
from svc.imports.links.staging import staging
from svc.imports.links.table import Row, read_table
from tests.clock import START_MS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc.model import Account
    from svc.store.tx import Store


async def imported(
    store: Store, account: Account, rows: Iterable[Row], **options: Any
) -> tuple[Report, list[tuple[int, str, str]]]:
    """Import rows. Return the report, and the line, code and reason for each rejected row."""
    with staging() as staged:
        report = await import_links(store, account, rows, staged, **options)
        refused = list(staged.refused())
    assert report.refused == len(refused)
    return report, refused


def rows_in(raw: bytes, now: int = START_MS) -> list[Row]:
    """Return all rows of a CSV table. Raises NotReadable."""
    return list(read_table(io.BytesIO(raw), now).rows)
