"""Gives a test a connected account without connecting it again.

Connecting an account takes 41 calls to the emulator, which is most of the CPU time of a short test. The first test of a
process that needs a connected account connects it for real, and this module then copies the rows in the store, the
account in the emulator, and the due times of the actor. Later tests restore the copy.

A copy is restored only in a test whose world is the same as the world of the copied test was before it connected: the
same configuration, Worker, rows in the store, customer's account, and settings of the emulator, and no API calls or
faults. Ids may differ, and so may times, if they are equally far from the present. In any other case, such as an
injected fault, the test connects for real. Tests of the connect operation itself call `Service.connect` or
`Service.connect_and_install`.

A restored account has the ids of the test's own user, customer and zone, new ids of databases and uploads, and current
times. `test_connected.py` compares a restored account with a connected one.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from edge_worker.emulator.copies import TIME, translated
from svc.actors.operations.install import push_second
from svc.clock import HOUR_MS
from svc.store.engines.postgres import PostgresStore
from svc.store.tx import Changed, sql

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc.store.tx import Store, Tx
    from tests.actors.conftest import Service

T = TypeVar("T")
Rows = dict[str, list[dict[str, Any]]]  # by table, in the order in which the tables were created

_HEX = "(?<![0-9a-f])[0-9a-f]{%s}(?![0-9a-f])"
_ID = re.compile(
    "|".join(
        [
            "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", _HEX % 32, _HEX % 64,
            r"\b[a-z]{2,4}_[a-z2-7]{20}\b", r"z\d{10}\.example", r"\b[fdr]-[\w-]{43}(?![\w-])",
        ]
    )
)  # fmt: skip
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
_MINUTE_MS = 60_000
_BYTES = "bytes:"
# Timers with a smaller value are counts, or mean that something is due now. Trio's clock starts at a higher value.
_LEAST_TIME = 1_000


@dataclass(frozen=True)
class Situation:
    """The state of a test's world.

    `outline`: the state without ids and exact times. `ids`: the replaced ids. `can_copy`: False after an API call, with
    a fault, and with several accounts, because copies do not contain these.
    """

    outline: str
    ids: Sequence[str]
    rows: Rows
    can_copy: bool


@dataclass(frozen=True)
class _Copy:
    """A connected account. `ids`: the ids before the account was connected. `number`: of the emulator's copy.

    `changes`: JSON with the removed and added rows of each changed table. `timers`: the actor's timers at the time
    `timers_at`, both on Trio's clock.
    """

    ids: Sequence[str]
    number: int
    account_id: str
    taken_at: int
    changes: str
    token: str
    timers: Mapping[str, float]
    timers_at: float
    deleted_bootstraps: Sequence[str]


# The copies of this process.
COPIES: dict[Hashable, _Copy] = {}


async def ready(service: Service) -> str:
    """Connect the customer's account, or restore a copy of a connected account. Return the account's id."""
    before = await situation_of(service)
    if not before.can_copy:
        return await service.connect_and_install()
    key = _key(service, before)
    copy = COPIES.get(key)
    if copy is not None:
        await _restore(service, before, copy)
        return copy.account_id
    account_id = await service.connect_and_install()
    await service.idle()
    COPIES[key] = await _copy(service, before)
    return account_id


async def situation_of(service: Service) -> Situation:
    """Return the state of the test's world: the rows in the store, and the account and settings of the emulator."""
    environment, now = await service.emulator.environment(service.customer.account_id)
    rows = await service.store.read(_read_rows(service.store))
    ids: list[str] = []
    outline = _outline(json.dumps(environment), now, ids) + _outline(json.dumps(rows), _now(service), ids)
    can_copy = not environment["faults"] and not environment["requests"] and environment["accounts"] == 1
    return Situation(outline, ids, rows, can_copy)


def _key(service: Service, before: Situation) -> Hashable:
    """Return a value that is the same for all tests that can share a copy. Copies expire at the next full hour."""
    context = service.context
    config = context.config.model_dump(exclude={"mail": {"folder"}, "edge": {"api_base_url"}})
    return (
        type(service.store), service.emulator.control, repr(config), context.bundle.sha256, context.push_url,
        type(context.visitor), _now(service) // HOUR_MS, before.outline,
    )  # fmt: skip


def _now(service: Service) -> int:
    return service.clock.now_ms  # some clocks advance when they are read


def _outline(text: str, now: int, ids: list[str]) -> str:
    """Replace each id by its position in `ids`, which gets the new ids, and each time by the minutes from now."""

    def numbered(match: re.Match[str]) -> str:
        if match[0] not in ids:
            ids.append(match[0])
        return f"#{ids.index(match[0])}"

    def from_now(match: re.Match[str]) -> str:
        return f"{round((int(match[0]) - now) / _MINUTE_MS)} minutes"

    return TIME.sub(from_now, _ID.sub(numbered, text))


def _read_rows(store: Store) -> Tx[Rows]:
    """Return the rows of all tables that are not empty. Byte strings become text, so that the rows can become JSON."""
    if isinstance(store, PostgresStore):
        catalog = (
            "select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace"
            " order by oid"
        )
    else:
        catalog = "select name from sqlite_master where type = 'table' and name not like 'sqlite~_%' escape '~'"
    names = [row["name"] for row in (yield sql(catalog))]
    filled = " union all ".join(f"select '{name}' as name where exists (select 1 from {name})" for name in names)
    with_rows = {row["name"] for row in (yield sql(filled))}
    rows: Rows = {}
    for name in names:
        found = (yield sql(f"select * from {name}")) if name in with_rows else []
        rows[name] = [{column: _as_json(row[column]) for column in row.keys()} for row in found]  # noqa: SIM118
    return rows


def _as_json(value: Any) -> Any:
    return f"{_BYTES}{value.hex()}" if isinstance(value, bytes) else value


async def _copy(service: Service, before: Situation) -> _Copy:
    """Copy the account, which was just connected and whose first health check has ended."""
    account, context = await service.account(), service.context
    assert account.sealed_token is not None
    rows = await service.store.read(_read_rows(service.store))
    changes = [
        (name, _without(before.rows[name], after), _without(after, before.rows[name]))
        for name, after in rows.items()
        if after != before.rows[name]
    ]
    text = json.dumps(changes)
    assert not _ISO_TIME.search(text), "the copy would contain a time that is not moved"
    timers = asdict(service.supervisor.account(account.edge_account_id).timers)
    return _Copy(
        ids=before.ids,
        number=await service.emulator.copy_account(account.edge_account_id),
        account_id=account.id,
        taken_at=_now(service),
        changes=text,
        token=context.vault.open(account.sealed_token, account.id),
        timers=timers,
        timers_at=trio.current_time(),
        deleted_bootstraps=list(context.deleted_bootstraps),
    )


def _without(rows: Sequence[T], others: Sequence[T]) -> list[T]:
    return [row for row in rows if row not in others]


async def _restore(service: Service, before: Situation, copy: _Copy) -> None:
    """Give the service and the emulator the state that they would have after connecting the account."""
    edge_account_id = service.customer.account_id
    ids = await service.emulator.restore_account(
        edge_account_id,
        copy.number,
        {old: new for old, new in zip(copy.ids, before.ids, strict=True) if old != new},
        {"PUSH_SECOND": str(push_second(edge_account_id))},
    )
    changes = json.loads(translated(copy.changes, ids, copy.taken_at, _now(service)))
    for name, _, added in changes:
        for row in added if name == "accounts" else ():
            row["sealed_token"] = _as_json(service.context.vault.seal(copy.token, row["id"]))
    service.context.deleted_bootstraps.extend(ids.get(each, each) for each in copy.deleted_bootstraps)
    timers = service.supervisor.account(edge_account_id).timers
    for name, at in copy.timers.items():
        setattr(timers, name, at + trio.current_time() - copy.timers_at if at > _LEAST_TIME else at)
    await service.store.run(_write(service.store, changes, before.rows, edge_account_id))


def _write(store: Store, changes: Sequence[tuple[str, Any, Any]], before: Rows, edge_account_id: str) -> Tx[None]:
    """Apply the changes of tables: each has its name, and its removed and added rows. Then wake the actor."""
    for name, removed, added in changes:
        if not before[name]:
            yield sql(f"delete from {name}")  # the rows that the triggers of a test have added
        for row in added:
            columns, values = list(row), [_from_json(value) for value in row.values()]
            marks = [f"${number}" for number in range(1, len(row) + 1)]
            if any(other[columns[0]] == values[0] for other in removed):  # the first column is this table's key
                pairs = ", ".join(f"{column} = {mark}" for column, mark in zip(columns, marks, strict=True))
                yield sql(f"update {name} set {pairs} where {columns[0]} = $1", *values)
            else:
                yield sql(f"insert into {name} ({', '.join(columns)}) values ({', '.join(marks)})", *values)
        if isinstance(store, PostgresStore):
            [row] = yield sql("select pg_get_serial_sequence($1, $2) as sequence", name, next(iter(added[0])))
            if row["sequence"] is not None:
                yield sql(f"select setval('{row['sequence']}', (select max({next(iter(added[0]))}) from {name}))")
    yield Changed(edge_account_id)


def _from_json(value: Any) -> Any:
    is_bytes = isinstance(value, str) and value.startswith(_BYTES)
    return bytes.fromhex(value.removeprefix(_BYTES)) if is_bytes else value
