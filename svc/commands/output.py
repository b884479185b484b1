"""Print to standard output: escape control characters and ignore a closed pipe."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def printable(text: str, most: int = 60) -> str:
    """Return up to `most` characters of a text from a file, with characters that could control a terminal replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:most])


def plural(count: int, noun: str) -> str:
    """Return a number with its noun, such as "1 row" or "2 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@contextmanager
def ignoring_closed_pipe() -> Iterator[None]:
    """Ignore a reader that closes the pipe while the block writes, and discard the remaining output."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
