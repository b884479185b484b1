"""Ids and secrets: random, prefixed, so that a log line explains itself."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets

ID_CHARS = 20  # 100 bits: never guessed, never met twice
ID_PATTERN = f"[a-z2-7]{{{ID_CHARS}}}"  # of what is behind the prefix and its underscore

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def new_id(prefix: str) -> str:
    """A new id, e.g. `acc_k3…` (prefixes: acc, site, lnk, key, ses, op)."""
    return f"{prefix}_{random_base32(ID_CHARS)}"


def is_id(prefix: str, text: str) -> bool:
    """Whether `text` can be an id with this prefix."""
    return re.fullmatch(f"{prefix}_{ID_PATTERN}", text) is not None


def random_base32(chars: int) -> str:
    """`chars` random characters of a-z2-7."""
    # Every 5 bits are a character, so no character is likelier than another.
    return base64.b32encode(secrets.token_bytes(-(-chars * 5 // 8))).decode().lower()[:chars]


def in_base32(number: int, chars: int) -> str:
    """A number below 32^chars as so many characters of a-z2-7."""
    return "".join(_BASE32[number >> 5 * place & 31] for place in reversed(range(chars)))


def number_of_base32(text: str) -> int:
    """The number that these characters of a-z2-7 are."""
    number = 0
    for char in text:
        number = number << 5 | _BASE32.index(char)
    return number


def new_site_path() -> str:
    """A path of one or two random segments: long enough never to be a page of the site, short enough for the snippet.

    The route covers all that begins with it, so a segment of a few letters could swallow real pages.
    """
    if secrets.randbelow(2):
        return f"/{random_base32(8)}"
    return f"/{random_base32(4)}/{random_base32(4)}"


def new_subdomain() -> str:
    """A DNS label that tells nothing and that nobody else has."""
    return f"w{random_base32(11)}"


def new_secret(prefix: str = "") -> str:
    """A secret of 256 bits in URL-safe characters, behind `prefix`."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored of a random secret: its SHA-256 in hex. (Passwords are not random: they get argon2id.)"""
    return hashlib.sha256(secret.encode()).hexdigest()
