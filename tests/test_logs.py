"""A log line: one JSON object with its time in UTC, whatever is logged."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from svc.logs import JsonFormatter, begin_lines, is_journal, lines_about, tell_lines


def line_of(message: str, *arguments: object, **extras: Any) -> dict[str, Any]:
    record = logging.getLogger("svc.test").makeRecord(
        "svc.test", logging.WARNING, __file__, 1, message, arguments, None, extra=extras
    )
    record.created = 1_795_233_600.25
    text = JsonFormatter().format(record)
    assert "\n" not in text
    line: dict[str, Any] = json.loads(text)
    return line


def test_a_line_says_when_in_utc_and_carries_its_extras():
    assert line_of("half of %s", "it", attempt=2) == {
        "at": "2026-11-21T04:00:00.250Z",
        "level": "warning",
        "logger": "svc.test",
        "message": "half of it",
        "attempt": 2,
    }


class Unwritable:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize("extra", [Unwritable(), HOLDS_ITSELF, {("a", 1): 2}, {1: Unwritable()}, {1, 2}, b"\xff"])
def test_an_extra_that_cannot_be_written_does_not_cost_the_line(extra):
    assert line_of("said", thing=extra)["message"] == "said"


@pytest.mark.parametrize("arguments", [("one too many",), (Unwritable(),)])
def test_nor_do_arguments_that_do_not_fit(arguments):
    assert line_of("said %d", *arguments)["message"] == "said %d"


def test_an_extra_does_not_hide_the_line_itself():
    line = line_of("said", at="never", level="none", logger="nobody")
    assert (line["at"][:4], line["level"], line["logger"]) == ("2026", "warning", "svc.test")


@given(st.recursive(st.none() | st.text() | st.floats() | st.binary(), lambda inner: st.lists(inner, max_size=3)))
def test_any_extra_is_written(value):
    assert line_of("said", thing=value)["message"] == "said"


def test_a_traceback_is_part_of_the_line():
    try:
        raise RuntimeError("gone")
    except RuntimeError:
        record = logging.getLogger("svc.test").makeRecord("t", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    assert "RuntimeError: gone" in json.loads(JsonFormatter().format(record))["traceback"]


async def test_a_line_says_what_its_task_works_on_and_nothing_of_another():
    lines = {}

    async def account():
        begin_lines(edge_account="e")
        with lines_about(operation="op"):
            await trio.lowlevel.checkpoint()
            lines["account"] = line_of("said")
        lines["after"] = line_of("said")

    async def part_of_a_request():
        tell_lines(account="acc")

    with lines_about(request="req_1"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(account)
            nursery.start_soon(part_of_a_request)
        lines["request"] = line_of("said", request="its own")
    tell_lines(account="of nothing")
    common = {"at": "2026-11-21T04:00:00.250Z", "level": "warning", "logger": "svc.test", "message": "said"}
    assert lines == {
        "account": {**common, "edge_account": "e", "operation": "op"},
        "after": {**common, "edge_account": "e"},
        "request": {**common, "request": "its own", "account": "acc"},
    }
    assert line_of("said") == common


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (25, 6), (logging.DEBUG, 7)],
)
def test_the_journal_is_told_the_level_before_the_line(level, priority):
    record = logging.getLogger("svc.test").makeRecord("t", level, __file__, 1, "said", (), None)
    text = JsonFormatter(priorities=True).format(record)
    assert text.startswith(f"<{priority}>{{")
    assert json.loads(text[3:])["message"] == "said"


def test_the_journal_is_known_by_its_device_and_inode(tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("w") as journal, (tmp_path / "log").open("w") as file:
        found = os.fstat(ours.fileno())
        name = f"{found.st_dev}:{found.st_ino}"
        assert is_journal(journal, name)
        assert not is_journal(file, name)  # what a unit starts inherits the name, and writes elsewhere
        assert not is_journal(journal, "")
    assert not is_journal(file, name)
