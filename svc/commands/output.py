"""Functions for command output: replace control characters, format plurals and facts, and ignore a closed pipe."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from svc.addresses import LONGEST_EMAIL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def printable(text: str, most: int = 60) -> str:
    """Return the first `most` characters of a text. Characters that could control a terminal are replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:most])


def plural(count: int, noun: str) -> str:
    """Return a number with its noun, such as "1 row" or "2 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def print_facts(facts: Mapping[str, object]) -> None:
    """Print a line for each fact whose value is neither a list nor a mapping."""
    for name, value in facts.items():
        if not isinstance(value, (list, dict)):
            print(f"{name + ':':18}{_fact_text(value)}")


def _fact_text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value), LONGEST_EMAIL)


@contextmanager
def ignoring_closed_pipe() -> Iterator[None]:
    """Return a context manager that discards the remaining output of its block if the reader closes the pipe."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
