"""Passwords as they are stored: argon2id. Costs about 50 ms and 64 MiB each: for a thread, few at a time.

Which may be chosen is in `password_policy.py`.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from base64 import b64encode

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError
from argon2.low_level import ARGON2_VERSION, hash_secret_raw

_HASHER = PasswordHasher()


def normalised(password: str) -> str:
    """The same text for what keyboards and systems write in several ways: ä in one sign or in two, wide letters (NFKC).

    Nothing else is changed: spaces, capitals and every other sign count.
    """
    return unicodedata.normalize("NFKC", password)


def hash_password(password: str) -> str:
    """What is stored of a password."""
    return _HASHER.hash(normalised(password))


def slow_digest(text: bytes, name: bytes) -> str:
    """The same for the same text under the same name, in hex: for what is guessed as easily as a password."""
    return hash_secret_raw(
        text,
        hashlib.sha256(name).digest(),
        _HASHER.time_cost,
        _HASHER.memory_cost,
        _HASHER.parallelism,
        _HASHER.hash_len,
        _HASHER.type,
    ).hex()


def nobodys() -> str:
    """As a hash of this cost looks, and no password's: a check against it takes as long as one against a user's."""
    salt, digest = (
        b64encode(secrets.token_bytes(length)).decode().rstrip("=") for length in (_HASHER.salt_len, _HASHER.hash_len)
    )
    cost = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"


def verify_password(stored: str | None, password: str) -> bool:
    """Whether `password` belongs to the stored hash.

    None (there is no such user) and "" (no password of this user counts) take as long and are False.
    """
    try:
        _HASHER.verify(stored or nobodys(), normalised(password))
    except (VerifyMismatchError, InvalidHashError):
        return False
    return bool(stored)
