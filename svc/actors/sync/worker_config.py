"""Reads and writes the table `config` in a Worker's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.edge import d1
from svc.worker import config_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.access import Access
    from svc.worker.config_rows import ConfigRow

_PAGE = "select key, version from config where body is not null and key > ?1 order by key limit 2000"


async def versions(access: Access, database_id: str) -> dict[str, int]:
    """Return the versions of the existing rows by row key.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    by_key: dict[str, int] = {}
    after = ""
    while True:
        [page] = await d1.query(access, database_id, [(_PAGE, [after])])
        if not page.rows:
            return by_key
        by_key |= {str(row["key"]): int(row["version"]) for row in page.rows}
        after = str(page.rows[-1]["key"])


async def write(access: Access, database_id: str, rows: Sequence[ConfigRow]) -> None:
    """Write the rows in order.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily. In both cases, some
    rows may already have been written.
    """
    for batch in config_rows.calls_of(rows):
        await d1.query(access, database_id, config_rows.write_statements(batch))
