"""Deletes many rows in batches, so that other writers do not have to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Parameter, Row, Tx

# The maximum number of rows that one transaction deletes from a table. Deleting them takes about 10 ms of the writer's
# time.
BATCH = 1_000


def delete_batch(table: str, key: str, condition: str, *parameters: Parameter) -> Tx[int]:
    """Delete a batch of the rows that meet `condition`. Returns the number of deleted rows."""
    return len((yield from delete_batch_keys(table, key, condition, *parameters)))


def delete_batch_keys(table: str, key: str, condition: str, *parameters: Parameter) -> Tx[list[Row]]:
    """Delete a batch of the rows that meet `condition`. Returns the keys of the deleted rows.

    The statement repeats the condition outside the subquery, because on PostgreSQL, a row may change after the subquery
    has found it, and only the outer condition is evaluated again. For example, a new response that has replaced an
    expired response is not deleted.
    """
    rows = yield sql(
        f"delete from {table} where {condition} and ({key}) in"  # noqa: S608  # SQL of this package
        f" (select {key} from {table} where {condition} limit {BATCH}) returning {key}",
        *parameters,
    )
    return rows
