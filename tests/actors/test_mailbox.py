"""The mailbox: bounded, and no caller waits for ever."""

from __future__ import annotations

import outcome
import pytest
import trio
import trio.testing

from svc.actors.mailbox import Call, Mailbox
from svc.errors import Busy, NotFound, Stopping


async def nothing() -> None:
    return None


def test_a_full_mailbox_says_busy():
    mailbox = Mailbox(2)
    mailbox.put(Call(nothing))
    mailbox.put(Call(nothing))
    with pytest.raises(Busy) as refused:
        mailbox.put(Call(nothing))
    assert refused.value.status == 503
    assert refused.value.retry_after_s


def test_calls_are_taken_in_the_order_of_their_arrival():
    mailbox = Mailbox(3)
    calls = [Call(nothing) for _ in range(3)]
    for call in calls:
        mailbox.put(call)
    assert [mailbox.take() for _ in range(4)] == [*calls, None]


def test_a_closed_mailbox_serves_what_is_queued_and_takes_nothing_new():
    mailbox = Mailbox(3)
    queued = Call(nothing)
    mailbox.put(queued)
    mailbox.close()
    with pytest.raises(Stopping):
        mailbox.put(Call(nothing))
    assert mailbox.take() is queued


async def test_whoever_is_still_queued_at_the_end_hears_it():
    mailbox = Mailbox(3)
    calls = [Call(nothing) for _ in range(2)]
    for call in calls:
        mailbox.put(call)
    heard: list[type[BaseException]] = []

    async def wait(call: Call[None]) -> None:
        try:
            await call.answer()
        except Stopping:
            heard.append(Stopping)

    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(wait, call)
        await trio.testing.wait_all_tasks_blocked()
        mailbox.refuse_rest()
    assert heard == [Stopping, Stopping]


async def test_the_first_answer_wins():
    call: Call[int] = Call(nothing)  # type: ignore[arg-type]
    call.resolve(outcome.Value(1))
    call.resolve(outcome.Error(NotFound()))
    assert await call.answer() == 1


async def test_a_caller_who_leaves_does_not_stop_the_work():
    call: Call[int] = Call(nothing)  # type: ignore[arg-type]
    with trio.move_on_after(0):
        await call.answer()
    call.resolve(outcome.Value(2))
    assert await call.answer() == 2
