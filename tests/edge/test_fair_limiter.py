"""Tests of the limiter for concurrent calls: order, limits, and the release of slots."""

from __future__ import annotations

import random

import trio
import trio.testing

from svc.edge.fair_limiter import FairLimiter, SlotRequest

A, B, C = "a" * 32, "b" * 32, "c" * 32


def queue_requests(limiter: FairLimiter, *accounts: str, user_id: int | None = None) -> list[SlotRequest]:
    requests = [SlotRequest(account, user_id) for account in accounts]
    for request in requests:
        limiter.enqueue(request)
    return requests


def has_slot(requests: list[SlotRequest]) -> list[bool]:
    return [request.granted.is_set() for request in requests]


def test_account_gets_at_most_its_share() -> None:
    limiter = FairLimiter(4, per_account=2, per_user=4)
    many = queue_requests(limiter, A, A, A, A)
    assert has_slot(many) == [True, True, False, False]
    others = queue_requests(limiter, B, C, B)
    assert has_slot(others) == [True, True, False]
    # Account A again has fewer calls than its limit, and of all waiting calls, A's call has waited longest.
    limiter.release(many[0])
    assert (has_slot(many[1:]), has_slot(others)) == ([True, True, False], [True, True, False])
    limiter.release(others[1])
    assert has_slot(others) == [True, True, True]


def test_user_limit_applies_across_accounts() -> None:
    limiter = FairLimiter(4, per_account=4, per_user=2)
    mine = queue_requests(limiter, A, B, C, user_id=1)
    assert has_slot(mine) == [True, True, False]
    assert has_slot(queue_requests(limiter, "d" * 32, "d" * 32, user_id=2)) == [True, True]
    limiter.release(mine[0])
    assert has_slot(mine) == [True, True, True]


def test_account_served_longest_ago_comes_first() -> None:
    limiter = FairLimiter(1, per_account=1, per_user=1)
    (first,) = queue_requests(limiter, A)
    queued = queue_requests(limiter, A, A, B, A, C)
    order = []
    request = first
    for _ in queued:
        limiter.release(request)
        (request,) = [waiting for waiting in queued if waiting.granted.is_set() and waiting not in order]
        order.append(request)
    assert [request.edge_account_id[0] for request in order] == ["a", "b", "c", "a", "a"]


def test_cancelled_wait_leaves_the_queue() -> None:
    limiter = FairLimiter(1, per_account=1, per_user=1)
    held, waiting, last = queue_requests(limiter, A, A, A)
    limiter.release(waiting)
    limiter.release(held)
    assert has_slot([held, waiting, last]) == [True, False, True]


async def test_limits_hold_and_no_slot_leaks_under_cancellation() -> None:
    dice = random.Random(2026)
    limiter = FairLimiter(5, per_account=2, per_user=3)
    users = {A: 1, B: 1, C: 2}
    held: list[str] = []

    async def call() -> None:
        for _ in range(200):
            account = dice.choice([A, B, C])
            with trio.CancelScope() as scope:
                if dice.random() < 0.3:
                    scope.cancel()
                async with limiter.slot(account, users[account]):
                    held.append(account)
                    assert len(held) <= 5
                    assert held.count(account) <= 2
                    assert held.count(A) + held.count(B) <= 3
                    try:
                        for _ in range(dice.randrange(3)):
                            await trio.lowlevel.checkpoint()
                    finally:
                        held.remove(account)

    async with trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(call)
    free = [SlotRequest(account, None) for account in (A, A, B, B, C)]
    for request in free:
        limiter.enqueue(request)
    assert has_slot(free) == [True] * 5
