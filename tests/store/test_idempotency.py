"""Tests that the first response is stored with its effect, replayed to repeated requests, and deleted after a day."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS
from svc.errors import Conflict
from svc.store import open_store
from svc.store.idempotency import AlreadyAnswered, Claim, StoredResponse, keep_response, recall
from tests.cases import cases
from tests.clock import START_MS
from tests.store.makers import a_user
from tests.store.table import count, ids, make_table, put

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

CLAIM = Claim(1, None, "POST", "/v1/sites", "key-1", "digest of the body")
ANSWER = StoredResponse(202, b'{"site":{"host":"\xc3\xa9"}}\x00', "application/json", {"X-One": "1"})


def owners() -> Tx[None]:
    """Add the users 1 and 2, who send the requests."""
    yield from a_user()
    yield from a_user()


@pytest.fixture
async def store(store: Store) -> Store:
    await store.run(owners())
    return store


def effect(number: int, claim: Claim = CLAIM, now: int = START_MS) -> Tx[None]:
    yield from put(number)
    yield from keep_response(claim, ANSWER, now, DAY_MS)


@pytest.mark.rule("G3")
async def test_stored_response_is_identical_after_a_restart(store_config):
    async with open_store(store_config) as store:
        await store.run(owners())
        assert await store.read(recall(CLAIM, START_MS)) is None
        await store.run(keep_response(CLAIM, ANSWER, START_MS, DAY_MS))
    async with open_store(store_config) as store:
        assert await store.read(recall(CLAIM, START_MS + DAY_MS - 1)) == ANSWER


@pytest.mark.rule("G3")
async def test_only_one_of_concurrent_repeats_takes_effect(table):
    ends = []

    async def one(number):
        try:
            await table.run(effect(number))
            ends.append("done")
        except AlreadyAnswered:
            ends.append("undone")

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(one, number)
    assert sorted(ends) == ["done", *["undone"] * 9]
    assert await table.read(count()) == 1


@pytest.mark.rule("G3")
@pytest.mark.parametrize(
    "other",
    [
        replace(CLAIM, user_id=2),
        replace(CLAIM, method="PUT"),
        replace(CLAIM, path="/v1/links"),
        replace(CLAIM, key="key-2"),
    ],
)
async def test_another_user_method_path_or_key_is_another_request(table, other):
    await table.run(effect(1))
    assert await table.read(recall(other, START_MS)) is None
    await table.run(effect(2, other))
    assert await table.read(ids()) == [1, 2]


@pytest.mark.rule("G4")
async def test_another_body_is_a_conflict(store):
    await store.run(keep_response(CLAIM, ANSWER, START_MS, DAY_MS))
    with pytest.raises(Conflict) as refused:
        await store.read(recall(replace(CLAIM, body_digest="another"), START_MS))
    assert refused.value.code == "idempotency_conflict"


SEEN = [
    (None, None, True),
    (("a",), None, True),
    (("a",), ("a",), True),
    (("a",), ("b", "a"), True),
    ((), ("a",), True),
    (None, ("a",), False),
    (("a", "b"), ("a",), False),
    (("a",), ("b",), False),
    (("a",), (), False),
]


@pytest.mark.rule("C4")
@cases(("number", "first", "again", "replayed"), [(number, *row) for number, row in enumerate(SEEN)])
async def test_response_is_replayed_only_to_credentials_with_equal_access(table, number, first, again, replayed):
    claim = replace(CLAIM, key=f"key-{number}", edge_accounts=first)
    await table.run(effect(number, claim))
    repeat = replace(claim, edge_accounts=again)
    if replayed:
        assert await table.read(recall(repeat, START_MS)) == ANSWER
        return
    with pytest.raises(Conflict, match="idempotency_conflict"):
        await table.read(recall(repeat, START_MS))
    assert await table.read(recall(repeat, START_MS + DAY_MS)) is None


@pytest.mark.rule("G5")
async def test_key_can_be_reused_after_a_day(table):
    await table.run(effect(1))
    tomorrow = START_MS + DAY_MS
    other_body = replace(CLAIM, body_digest="another")
    assert await table.read(recall(CLAIM, tomorrow)) is None
    assert await table.read(recall(other_body, tomorrow)) is None
    await table.run(effect(2, other_body, tomorrow))
    assert await table.read(recall(other_body, tomorrow + DAY_MS - 1)) == ANSWER
    assert await table.read(ids()) == [1, 2]


async def test_failed_effect_stores_no_response(table):
    def failing() -> Tx[None]:
        yield from keep_response(CLAIM, ANSWER, START_MS, DAY_MS)
        raise Conflict("site_exists")

    with pytest.raises(Conflict):
        await table.run(failing())
    assert await table.read(recall(CLAIM, START_MS)) is None


async def test_effect_is_rolled_back_if_the_response_cannot_be_stored(store_config):
    async with open_store(store_config) as store:
        await store.run(owners())
        await store.run(make_table())
        await store.run(effect(1))
        with pytest.raises(AlreadyAnswered):
            await store.run(effect(2))
    async with open_store(store_config) as store:
        assert await store.read(ids()) == [1]
