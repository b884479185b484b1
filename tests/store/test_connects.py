"""Tests of limits and conflicts of connect operations, including concurrent ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from svc.config import LimitsConfig
from svc.errors import ErrorNote, ServiceError
from svc.ids import new_id
from svc.store import connects, exports, operations
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import a_note, a_share, a_user, an_account, owner_of

if TYPE_CHECKING:
    from svc.model import Account, Operation
    from svc.store.tx import Tx


def begin(user_id: int, edge_account_id: str, limits: LimitsConfig | None = None) -> Tx[tuple[Account, Operation]]:
    return connects.begin_connect(
        account_id=new_id("acc"),
        operation_id=new_id("op"),
        user_id=user_id,
        edge_account_id=edge_account_id,
        name="Shop",
        limits=limits or LimitsConfig(),
        now=START_MS,
    )


def with_token(account_id: str) -> Tx[None]:
    yield sql("update accounts set sealed_token = $2 where id = $1", account_id, b"sealed")


async def refusal(store, tx):
    try:
        await store.run(tx)
    except ServiceError as error:
        return error.code
    return None


@pytest.mark.rule("A9")
async def test_edge_account_belongs_to_the_first_user_who_connects_it(store):
    user_id, other_id = await store.run(a_user()), await store.run(a_user())
    account, _ = await store.run(begin(user_id, "e1"))
    assert await refusal(store, begin(other_id, "e1")) == "account_taken"
    again, _ = await store.run(begin(user_id, "e1", LimitsConfig(accounts=1, accounts_total=1)))
    assert again.id == account.id  # reconnecting does not count toward the limits
    await store.run(with_token(account.id))
    assert await refusal(store, begin(user_id, "e1")) == "already_connected"


@pytest.mark.parametrize(
    ("limits", "code"),
    [(LimitsConfig(accounts=1), "limit_reached"), (LimitsConfig(accounts_total=1), "service_full")],
)
async def test_account_limits_are_enforced(store, limits, code):
    user_id = await store.run(a_user())
    await store.run(begin(user_id, "e1", limits))
    assert await refusal(store, connects.may_connect(user_id, "e2", limits)) == code
    assert await refusal(store, begin(user_id, "e2", limits)) == code
    assert await refusal(store, begin(await store.run(a_user()), "e3", limits)) == (
        None if code == "limit_reached" else code
    )


async def test_concurrent_connects_do_not_exceed_the_account_limit(store):
    user_id = await store.run(a_user())
    ends = []

    async def one(number):
        ends.append(await refusal(store, begin(user_id, f"e{number}", LimitsConfig(accounts=3))))

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(one, number)
    assert sorted(ends, key=str) == [None] * 3 + ["limit_reached"] * 7


@pytest.mark.rule("A5")
async def test_attempt_after_a_possibly_valid_token_gets_another_name(store):
    user_id = await store.run(a_user())
    account, first = await store.run(begin(user_id, "e1"))
    _, same = await store.run(begin(user_id, "e1"))
    assert same.id == first.id  # the operation has not requested a token from Cloudflare yet
    await store.run(operations.token_asked(first.id, START_MS))
    _, second = await store.run(begin(user_id, "e1"))
    assert second.id != first.id
    assert [one.id for one in await store.read(operations.with_open_token(account.id))] == [first.id]
    await store.run(operations.token_settled(first.id))
    assert await store.read(operations.with_open_token(account.id)) == []


async def test_dropped_connect_leaves_no_rows(store):
    account_id = await store.run(an_account(link_host=False))
    user_id = await store.read(owner_of(account_id))
    await store.run(a_note(account_id, account_id, "account"))
    await store.run(a_share(account_id, account_id, "account"))
    await store.run(connects.drop_connect(account_id, ErrorNote("token_check_failed", "It does not work."), START_MS))
    assert await store.read(operations.latest(account_id)) is None
    assert await store.read(exports.notes_page(user_id, START_MS, None)) == []
    assert await store.read(exports.shares_page(user_id, START_MS, None)) == []
