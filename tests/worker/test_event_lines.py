"""Tests of decoding event lines and tally lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from svc.worker.event_lines import read_events, read_events_of, read_tallies

PERSON = ["lnk_a", 480_000, "", "ann", "/shop", "news.example", "DE|phone|Firefox|Android"]
WITHOUT_DETAIL = ["lnk_a", 480_001, "", "dan"]
BOT = ["lnk_b", 480_001, "head", ""]


def lines(*items: Any) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def test_events_are_read_in_order():
    text = lines(PERSON, BOT, WITHOUT_DETAIL)
    assert read_events(text) == [tuple(PERSON), tuple(BOT), tuple(WITHOUT_DETAIL)]
    assert read_events_of(text, "lnk_a") == [tuple(PERSON), tuple(WITHOUT_DETAIL)]
    assert read_events("") == read_events_of("", "lnk_a") == []
    assert read_tallies("") == []


def test_tallies_are_read_with_and_without_entry():
    assert read_tallies(lines(["lnk_a", 20_000, 3, 1], ["", 20_000, 1, 0, "busy"])) == [
        ("lnk_a", 20_000, 3, 1),
        ("", 20_000, 1, 0, "busy"),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["lnk_a"],
        PERSON[:5],
        [*PERSON, "mail", "https://a.example/", "more"],
        ["lnk_a", "x", "", "ann"],
        ["lnk_a", 480_000, None, "ann"],
    ],
)
def test_invalid_events_are_rejected(wrong):
    with pytest.raises(ValueError, match="validation error"):
        read_events(lines(wrong))
    if wrong:
        with pytest.raises(ValueError, match="validation error"):
            read_events_of(lines(wrong), "lnk_a")
    assert read_events_of(lines(wrong), "lnk_b") == []


@pytest.mark.parametrize("wrong", [["lnk_a"], ["lnk_a", 20_000, "x", 0], ["lnk_a", 20_000, 1, 0, "busy", 1]])
def test_invalid_tallies_are_rejected(wrong):
    with pytest.raises(ValueError, match="validation error"):
        read_tallies(lines(wrong))


@pytest.mark.parametrize("text", ["x\n", "5\n", "[1\n"])
def test_lines_that_are_not_lists_are_rejected(text):
    for read in (read_events, read_tallies, lambda lines: read_events_of(lines, "lnk_a")):
        with pytest.raises((ValueError, TypeError, KeyError)):
            read(text)
