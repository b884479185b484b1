"""Ask for a confirmation before a command that cannot be undone."""

from __future__ import annotations

import sys


def confirms(expected: str, shown: str) -> bool:
    """Return True if the user types `expected`, in upper or lower case. `shown`: how the question names it."""
    print(f"Type {shown} to continue: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() == expected.lower()
