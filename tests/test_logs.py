"""A log line: one JSON object with its time in UTC, whatever is logged."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.logs import JsonFormatter


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
