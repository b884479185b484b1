"""Tests of the format and context of log lines."""

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

from svc.logs import JsonFormatter, add_log_context, is_journal, log_context, reset_log_context


def line_of(message: str, *arguments: object, **extras: Any) -> dict[str, Any]:
    record = logging.getLogger("svc.test").makeRecord(
        "svc.test", logging.WARNING, __file__, 1, message, arguments, None, extra=extras
    )
    record.created = 1_795_233_600.25
    text = JsonFormatter().format(record)
    assert "\n" not in text
    line: dict[str, Any] = json.loads(text)
    return line


def test_line_has_utc_time_and_extras():
    assert line_of("half of %s", "it", attempt=2) == {
        "at": "2026-11-21T04:00:00.250Z",
        "level": "warning",
        "logger": "svc.test",
        "message": "half of it",
        "attempt": 2,
    }


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize("extra", [Unprintable(), CIRCULAR, {("a", 1): 2}, {1: Unprintable()}, {1, 2}, b"\xff"])
def test_line_is_written_despite_unserializable_extras(extra):
    assert line_of("said", thing=extra)["message"] == "said"


@pytest.mark.parametrize("arguments", [("one too many",), (Unprintable(),)])
def test_line_is_written_despite_mismatched_arguments(arguments):
    assert line_of("said %d", *arguments)["message"] == "said %d"


def test_extras_do_not_replace_standard_fields():
    line = line_of("said", at="never", level="none", logger="none")
    assert (line["at"][:4], line["level"], line["logger"]) == ("2026", "warning", "svc.test")


@given(st.recursive(st.none() | st.text() | st.floats() | st.binary(), lambda inner: st.lists(inner, max_size=3)))
def test_any_extra_is_serialized(value):
    assert line_of("said", thing=value)["message"] == "said"


def test_traceback_is_part_of_the_line():
    try:
        raise RuntimeError("gone")
    except RuntimeError:
        record = logging.getLogger("svc.test").makeRecord("t", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    assert "RuntimeError: gone" in json.loads(JsonFormatter().format(record))["traceback"]


async def test_lines_have_the_context_of_their_task_only():
    lines = {}

    async def account():
        reset_log_context(edge_account="e")
        with log_context(operation="op"):
            await trio.lowlevel.checkpoint()
            lines["account"] = line_of("said")
        lines["after"] = line_of("said")

    async def part_of_a_request():
        add_log_context(account="acc")

    with log_context(request="req_1"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(account)
            nursery.start_soon(part_of_a_request)
        lines["request"] = line_of("said", request="its own")
    add_log_context(account="of nothing")
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
def test_journal_lines_begin_with_their_priority(level, priority):
    record = logging.getLogger("svc.test").makeRecord("t", level, __file__, 1, "said", (), None)
    text = JsonFormatter(priorities=True).format(record)
    assert text.startswith(f"<{priority}>{{")
    assert json.loads(text[3:])["message"] == "said"


def test_journal_is_recognized_by_device_and_inode(tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("w") as journal, (tmp_path / "log").open("w") as file:
        found = os.fstat(ours.fileno())
        name = f"{found.st_dev}:{found.st_ino}"
        assert is_journal(journal, name)
        # a child process inherits the environment variable, but may write its output to another file
        assert not is_journal(file, name)
        assert not is_journal(journal, "")
    assert not is_journal(file, name)
