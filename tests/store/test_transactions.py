"""Tests, on both engines, that transactions are atomic, durable before they return, and cancelled cleanly."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import pytest
import trio

from svc.errors import Conflict, NotFound
from svc.store import open_store, users
from svc.store.tx import many, placeholders, sql
from tests.cases import cases
from tests.store.table import count, ids, make_table, pair, put

if TYPE_CHECKING:
    from svc.store.tx import Parameter, Tx


async def test_exception_rolls_back_and_reaches_the_caller(table):
    def half() -> Tx[None]:
        yield from put(1)
        raise Conflict("site_exists")

    with pytest.raises(Conflict) as refused:
        await table.run(half())
    assert refused.value.code == "site_exists"
    assert await table.read(count()) == 0


async def test_failed_transaction_does_not_affect_its_group(table):
    failed = []

    async def one(number):
        try:
            await table.run(put(number % 50, number))
        except Conflict:
            failed.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(one, number)
    assert await table.read(ids()) == list(range(50))
    assert len(failed) == 50


async def test_failed_statement_rolls_back_and_is_named_in_the_error(table):
    def broken() -> Tx[None]:
        yield from put(1)
        yield sql("select nonsense from nowhere")

    with pytest.raises(Exception, match=r"nowhere|nonsense") as refused:
        await table.run(broken())
    assert refused.value.__notes__ == ["in: select nonsense from nowhere"]
    await table.run(put(2))
    assert await table.read(ids()) == [2]


async def test_generator_is_closed_when_a_statement_fails(table):
    closed = []

    def broken() -> Tx[None]:
        try:
            yield sql("select nonsense from nowhere")
        finally:
            closed.append(True)

    with pytest.raises(Exception, match=r"nowhere|nonsense"):
        await table.run(broken())
    assert closed == [True]


async def test_confirmed_writes_survive_reopening(store_config):
    async with open_store(store_config) as store:
        await store.run(make_table())
        await store.run(put(1))
    async with open_store(store_config) as store:
        assert await store.read(ids()) == [1]


async def test_read_sees_all_confirmed_writes(table):
    async def one(number):
        await table.run(put(number))
        assert number in await table.read(ids())

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(one, number)


async def test_read_cannot_write(table):
    with pytest.raises(Exception, match=r"read.?only|readonly"):
        await table.read(put(1))
    assert await table.read(count()) == 0


async def test_many_runs_are_all_or_nothing(table):
    insert = "insert into t (id, n) values ($2, $1)"

    def fill(numbers: list[int]) -> Tx[None]:
        rows = yield many(insert, [(number * 10, number) for number in numbers])
        assert rows == []

    await table.run(fill([]))
    await table.run(fill([1, 2, 3]))
    with pytest.raises(Exception, match=r"(?i)unique"):
        await table.run(fill([4, 5, 3]))
    assert await table.read(ids()) == [1, 2, 3]
    tens = await table.read(_column("select n from t order by id", "n"))
    assert tens == [10, 20, 30]


def _column(text: str, name: str, *parameters: Parameter) -> Tx[list[object]]:
    rows = yield sql(text, *parameters)
    return [row[name] for row in rows]


async def test_empty_list_of_placeholders_matches_nothing(table):
    await table.run(pair(1))
    assert await table.read(_column(f"select id from t where id in ({placeholders(0)})", "id")) == []
    text = f"select id from t where n = $1 and id in ({placeholders(2, first=2)})"
    assert await table.read(_column(text, "id", 0, 1, 7)) == [1]


async def test_statement_accepts_thousands_of_parameters_in_order(table):
    await table.run(pair(3_000))
    text = f"select id from t where id in ({placeholders(3_000)})"
    assert await table.read(_column(text, "id", *range(1, 3_001))) == [3_000]


async def test_transaction_without_statements_returns_its_result(store):
    def nothing() -> Tx[int]:
        yield from ()
        return 7

    assert await store.run(nothing()) == 7
    assert await store.read(nothing()) == 7


async def test_twenty_concurrent_claims_have_one_winner(table):
    def claim() -> Tx[None]:
        rows = yield sql("update t set n = 1 where id = 1 and n = 0 returning id")
        if not rows:
            raise Conflict("operation_in_progress")

    await table.run(put(1))
    results = []

    async def one():
        try:
            await table.run(claim())
            results.append("won")
        except Conflict:
            results.append("lost")

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(one)
    assert sorted(results) == ["lost"] * 19 + ["won"]


async def test_cancelled_transactions_are_rolled_back_and_confirmed_ones_kept(table):
    chance = random.Random(7)
    answered = set()
    begun = 0

    async def one(number):
        nonlocal begun
        with trio.move_on_after(chance.uniform(0, 0.03)):
            begun += 1
            await table.run(pair(number))
            answered.add(number)

    for first in range(1, 301, 60):
        async with trio.open_nursery() as nursery:
            for number in range(first, first + 60):
                nursery.start_soon(one, number)
    kept = {number for number in await table.read(ids()) if number > 0}
    assert begun == 300
    assert kept == answered
    assert await table.read(count()) == 2 * len(kept)


async def test_cancelled_task_begins_no_transaction(table):
    with trio.CancelScope() as scope:
        scope.cancel()
        await table.run(put(1))
    assert scope.cancelled_caught
    assert await table.read(count()) == 0


async def test_a_thousand_concurrent_transactions_are_all_kept(table):
    async with trio.open_nursery() as nursery:
        for number in range(1_000):
            nursery.start_soon(table.run, put(number))
    assert await table.read(count()) == 1_000


async def test_closed_store_accepts_no_transactions(store_config):
    async with open_store(store_config) as store:
        await store.run(make_table())
    with pytest.raises(trio.ClosedResourceError):
        await store.run(put(1))
    with pytest.raises(trio.ClosedResourceError):
        await store.read(count())


async def test_closing_leaves_no_threads(store_config):
    async with open_store(store_config):
        inside = {thread.name for thread in threading.enumerate()}
    after = {thread.name for thread in threading.enumerate()}
    assert {name for name in inside if name.startswith(("sqlite", "postgres"))}
    assert not {name for name in after if name.startswith(("sqlite", "postgres"))}


@pytest.mark.parametrize(
    ("text", "parameters"), [("select $1", ()), ("select 1", (1,)), ("select $2", (1,)), ("select $1, $3", (1, 2))]
)
def test_statement_must_match_its_parameters(text, parameters):
    with pytest.raises(ValueError, match="parameters"):
        sql(text, *parameters)
    with pytest.raises(ValueError, match="parameters"):
        many(text, [parameters])


def test_repr_of_a_statement_omits_its_parameters():
    assert "secret" not in repr(sql("select $1", "secret"))
    assert "secret" not in repr(many("select $1", [("secret",)]))


async def test_peek_reads_committed_data(store):
    user = await store.run(users.add_user("peek@example.com", "hash", 1))
    assert user is not None
    assert await store.peek(users.get_user(user.id)) == user
    await store.run(users.set_plan(user.id, "api"))
    seen = await store.peek(users.get_user(user.id))
    assert seen is not None
    assert seen.plan == "api"


async def test_failed_peek_does_not_affect_the_next_one(store):
    def fails() -> Tx[None]:
        yield sql("select count(*) as n from users")
        raise NotFound

    with pytest.raises(NotFound):
        await store.peek(fails())
    assert await store.peek(users.get_user(1)) is None


async def test_list_is_one_parameter_with_any_contents(table):
    words = ("", "a", "it's", '"quoted"', "ü{1,2}", "a\\b")

    def among(*wanted: str) -> Tx[list[str]]:
        rows = yield sql("select word from words where n >= $2 and word = any($1) order by n", wanted, 0)
        return [row["word"] for row in rows]

    def made() -> Tx[None]:
        yield sql("create table words (word text not null, n bigint not null)")
        yield many("insert into words (word, n) values ($1, $2)", [(word, n) for n, word in enumerate(words)])

    await table.run(made())
    assert await table.read(among()) == []
    assert await table.peek(among("b", "1")) == []
    assert await table.read(among(*reversed(words))) == list(words)
    assert await table.run(among(*(f"w{number}" for number in range(40_000)), "a")) == ["a"]


@cases("rows", [1, 7, 8, 9, 63, 64, 73, 200])
async def test_multi_row_upsert_inserts_and_updates_every_row(table, rows):
    upsert = (
        "insert into t (id, n) values ($1, $2) on conflict (id) do update set n = excluded.n where excluded.n > t.n"
    )

    def put_all(*, n: int) -> Tx[None]:
        yield many(upsert, [(number, n + number) for number in range(rows)])

    def stored() -> Tx[list[tuple[int, int]]]:
        found = yield sql("select id, n from t order by id")
        return [(row["id"], row["n"]) for row in found]

    def emptied() -> Tx[None]:
        yield sql("delete from t")

    await table.run(emptied())
    for n, kept in ((5, 5), (9, 9), (2, 9)):
        await table.run(put_all(n=n))
        assert await table.read(stored()) == [(number, kept + number) for number in range(rows)]

    def broken() -> Tx[None]:
        yield many("insert into t (id, n) values ($1, $2)", [(rows + number, 0) for number in range(rows)] + [(0, 0)])

    with pytest.raises(Exception, match=r"UNIQUE|unique"):
        await table.run(broken())
    assert len(await table.read(ids())) == rows
