"""A table of the tests' own, and transactions on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Conflict
from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Tx


def make_table() -> Tx[None]:
    yield sql("create table t (id bigint primary key, n bigint not null)")


def put(number: int, n: int = 0) -> Tx[None]:
    """One row; Conflict when it is there."""
    rows = yield sql("insert into t (id, n) values ($1, $2) on conflict (id) do nothing returning id", number, n)
    if not rows:
        raise Conflict("link_exists")


def pair(number: int) -> Tx[None]:
    """Two rows that belong together."""
    yield from put(number)
    yield from put(-number)


def ids() -> Tx[list[int]]:
    rows = yield sql("select id from t order by id")
    return [row["id"] for row in rows]


def count() -> Tx[int]:
    rows = yield sql("select count(*) as n from t")
    return int(rows[0]["n"])
