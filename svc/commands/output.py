"""What a command tells on its standard output: to a terminal, which must not be controlled by a file, or to nobody."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def printable(text: str, most: int = 60) -> str:
    """What a file holds, in so many characters at most, none of which does anything to a terminal."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:most])


@contextmanager
def perhaps_unread() -> Iterator[None]:
    """What the block writes need not be read: that nobody does is no failure, and the rest is written to nobody."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
