"""Random ids with a prefix for their kind, random secrets, and the pattern of Cloudflare's account ids."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets

ID_CHARS = 20  # 100 bits: cannot be guessed, and collisions are negligible
ID_PATTERN = f"[a-z2-7]{{{ID_CHARS}}}"  # the part after the prefix and underscore
EDGE_ACCOUNT_ID = "[0-9a-f]{32}"  # the pattern of Cloudflare's account ids

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def new_id(prefix: str) -> str:
    """Return a new id, which begins with a prefix for the kind of object, such as `acc_k3…`."""
    return f"{prefix}_{random_base32(ID_CHARS)}"


def is_id(prefix: str, text: str) -> bool:
    """Return True if `text` is formatted as an id with this prefix."""
    return re.fullmatch(f"{prefix}_{ID_PATTERN}", text) is not None


def random_base32(chars: int) -> str:
    """Return `chars` random characters from a-z and 2-7, all equally likely."""
    return base64.b32encode(secrets.token_bytes(-(-chars * 5 // 8))).decode().lower()[:chars]


def in_base32(number: int, chars: int) -> str:
    """Encode a number below 32^chars as `chars` characters from a-z and 2-7."""
    return "".join(_BASE32[number >> 5 * place & 31] for place in reversed(range(chars)))


def number_of_base32(text: str) -> int:
    """Return the number that `in_base32` encoded."""
    number = 0
    for char in text:
        number = number << 5 | _BASE32.index(char)
    return number


def new_site_path() -> str:
    """Return a path of one or two random segments for a site's counter.

    The site's route matches every path that begins with the new path. The new path is so long that the path of a web
    page is unlikely to begin with it. A longer path would make the snippet longer.
    """
    if secrets.randbelow(2):
        return f"/{random_base32(8)}"
    return f"/{random_base32(4)}/{random_base32(4)}"


def new_subdomain() -> str:
    """Return a random DNS label that is unique and reveals nothing about the account."""
    return f"w{random_base32(11)}"


def new_secret(prefix: str = "") -> str:
    """Return `prefix` followed by a secret of 256 random bits in URL-safe characters."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return a random secret's SHA-256 hash in hex, for storage. (Passwords are not random, so they use argon2id.)"""
    return hashlib.sha256(secret.encode()).hexdigest()
