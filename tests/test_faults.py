"""Tests that an exception in one part of the service does not affect the others."""

from __future__ import annotations

import logging

import pytest
import trio

from svc.faults import contained

log = logging.getLogger("svc.test")


async def test_exception_is_logged_once_and_stopped(expected_errors, caplog):
    expected_errors.allow("it broke")
    with contained(log, "it broke", account="acc_1"):
        raise KeyError("who")
    [line] = [record for record in caplog.records if record.message == "it broke"]
    assert (line.kind, line.account) == ("KeyError", "acc_1")
    assert line.exc_info is not None


async def test_exception_group_is_logged_and_stopped(expected_errors, caplog):
    expected_errors.allow("it broke")

    async def fail() -> None:
        raise ValueError

    with contained(log, "it broke"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)
    assert [record.kind for record in caplog.records] == ["ValueError"]


async def test_cancellation_propagates():
    with trio.CancelScope() as scope:
        scope.cancel()
        with contained(log, "never said"):
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_exception_during_cancellation_is_logged_and_cancellation_propagates(expected_errors):
    expected_errors.allow("it broke")

    async def fail_late() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError

    async def wait_quietly() -> None:
        await trio.sleep_forever()

    with trio.CancelScope() as scope:
        scope.cancel()
        with contained(log, "it broke"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fail_late)
                nursery.start_soon(wait_quietly)
        pytest.fail("the cancellation was swallowed")
    assert scope.cancelled_caught


def test_keyboard_interrupt_propagates():
    with pytest.raises(KeyboardInterrupt), contained(log, "never said"):
        raise KeyboardInterrupt
