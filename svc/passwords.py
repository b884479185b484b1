"""Passwords: argon2id. Costs about 50 ms and 64 MiB each, so callers run it in a thread, few at a time."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

_HASHER = PasswordHasher()

SHORTEST = 8
# Longer ones are no better; the limit keeps a megabyte of password from being hashed.
LONGEST = 200


def hash_password(password: str) -> str:
    """What is stored of a password."""
    return _HASHER.hash(password)


# What an unknown address is checked against, so that it takes as long as a known one.
_NOBODY = hash_password("nobody has this password")


def verify_password(stored: str | None, password: str) -> bool:
    """Whether `password` belongs to the stored hash; None (there is no such user) takes as long and is False."""
    try:
        _HASHER.verify(stored or _NOBODY, password)
    except (VerifyMismatchError, InvalidHashError):
        return False
    return stored is not None
