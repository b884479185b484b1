"""Helpers for command output: replace control characters, format plurals, and ignore a closed pipe."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def printable(text: str, most: int = 60) -> str:
    """Return the first `most` characters of a text. Characters that could control a terminal are replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:most])


def plural(count: int, noun: str) -> str:
    """Return a number with its noun, such as "1 row" or "2 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@contextmanager
def ignoring_closed_pipe() -> Iterator[None]:
    """If the reader closes the pipe while the block is writing, discard the remaining output instead of raising."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
