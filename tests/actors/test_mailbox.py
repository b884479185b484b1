"""Tests that the size of the mailbox is limited, and that no caller waits forever."""

from __future__ import annotations

import outcome
import pytest
import trio
import trio.testing

from svc.actors.mailbox import Ask, Mailbox
from svc.errors import Busy, NotFound, Stopping


async def nothing() -> None:
    return None


def test_full_mailbox_raises_busy():
    mailbox = Mailbox(2)
    mailbox.put(Ask(nothing))
    mailbox.put(Ask(nothing))
    with pytest.raises(Busy) as refused:
        mailbox.put(Ask(nothing))
    assert refused.value.status == 503
    assert refused.value.retry_after_s


def test_requests_are_popped_in_order_of_arrival():
    mailbox = Mailbox(3)
    asks = [Ask(nothing) for _ in range(3)]
    for ask in asks:
        mailbox.put(ask)
    assert [mailbox.pop() for _ in range(4)] == [*asks, None]


def test_closed_mailbox_serves_queued_requests_and_rejects_new_ones():
    mailbox = Mailbox(3)
    queued = Ask(nothing)
    mailbox.put(queued)
    mailbox.close()
    with pytest.raises(Stopping):
        mailbox.put(Ask(nothing))
    assert mailbox.pop() is queued


async def test_queued_callers_get_stopping_at_the_end():
    mailbox = Mailbox(3)
    asks = [Ask(nothing) for _ in range(2)]
    for ask in asks:
        mailbox.put(ask)
    heard: list[type[BaseException]] = []

    async def wait(ask: Ask[None]) -> None:
        try:
            await ask.response()
        except Stopping:
            heard.append(Stopping)

    async with trio.open_nursery() as nursery:
        for ask in asks:
            nursery.start_soon(wait, ask)
        await trio.testing.wait_all_tasks_blocked()
        mailbox.refuse_queued()
    assert heard == [Stopping, Stopping]


async def test_first_result_wins():
    ask: Ask[int] = Ask(nothing)  # type: ignore[arg-type]
    ask.resolve(outcome.Value(1))
    ask.resolve(outcome.Error(NotFound()))
    assert await ask.response() == 1


async def test_cancelled_caller_does_not_stop_the_work():
    ask: Ask[int] = Ask(nothing)  # type: ignore[arg-type]
    with trio.move_on_after(0):
        await ask.response()
    ask.resolve(outcome.Value(2))
    assert await ask.response() == 2
