"""Asks for a confirmation before a command that cannot be undone."""

from __future__ import annotations

import sys


def confirms(expected: str, shown: str) -> bool:
    """Ask the user to type `expected`.

    Return True if the user does so, ignoring case. `shown`: the text that the question shows for `expected`.
    """
    print(f"Type {shown} to continue: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() == expected.lower()
