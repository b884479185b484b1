"""Password hashes (argon2id).

A hash takes about 50 ms and 64 MiB. Compute hashes in threads, and only a few at the same time.

`password_policy.py` contains the rules for passwords.
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


def normalized(password: str) -> str:
    """Return the password in Unicode form NFKC.

    This is necessary because systems encode the same text differently (ä, full-width letters).

    Spaces and upper case are kept.
    """
    return unicodedata.normalize("NFKC", password)


def hash_password(password: str) -> str:
    """Return the hash that is stored for a password."""
    return _HASHER.hash(normalized(password))


def slow_digest(text: bytes, name: bytes) -> str:
    """Return a digest (hex, salted with `name`) of a text that contains a password.

    The digest is slow to compute, which makes the password hard to guess.
    """
    return hash_secret_raw(
        text,
        hashlib.sha256(name).digest(),
        _HASHER.time_cost,
        _HASHER.memory_cost,
        _HASHER.parallelism,
        _HASHER.hash_len,
        _HASHER.type,
    ).hex()


def dummy_hash() -> str:
    """Return a hash that does not match any password. Verifying it takes as long as verifying a real hash."""
    salt, digest = (
        b64encode(secrets.token_bytes(length)).decode().rstrip("=") for length in (_HASHER.salt_len, _HASHER.hash_len)
    )
    cost = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"


def verify_password(stored: str | None, password: str) -> bool:
    """Return True if the password matches the stored hash.

    `stored` is None if the user does not exist, and "" if the user has no password. In both cases, the function returns
    False after the same time as for a wrong password.
    """
    try:
        _HASHER.verify(stored or dummy_hash(), normalized(password))
    except (VerifyMismatchError, InvalidHashError):
        return False
    return bool(stored)
