"""What an API key's value looks like: one word, which a scanner for leaked secrets tells from any other.

    svc_  30 random characters (178 bits)  6 characters of checksum

All are of 0-9, A-Z, a-z, so a double click takes the whole value. The checksum is the CRC-32 of the random characters
(zlib's), in base 62 with these characters as digits, the highest first: the form that the large code hosts use. It
keeps no secret. Whoever finds something like a key knows without asking whether it is one.
"""

from __future__ import annotations

import re
import secrets
import string
import zlib

PREFIX = "svc_"
# Of a key's value this much is stored and shown: enough to tell one's keys apart; 22 random characters, 131 bits, stay
# unknown.
SHOWN_CHARS = len(PREFIX) + 8

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_CHARS = 30
_CHECKSUM_CHARS = 6  # 62^6 is more than 2^32
PATTERN = f"{PREFIX}[0-9A-Za-z]{{{_RANDOM_CHARS + _CHECKSUM_CHARS}}}"


def new_api_key() -> str:
    """The value of a new key."""
    random = "".join(secrets.choice(_DIGITS) for _ in range(_RANDOM_CHARS))
    return f"{PREFIX}{random}{_checksum(random)}"


def is_api_key(text: str) -> bool:
    """Whether `text` can be the value of a key: its form and its checksum are right."""
    if re.fullmatch(PATTERN, text) is None:
        return False
    return _checksum(text[len(PREFIX) : -_CHECKSUM_CHARS]) == text[-_CHECKSUM_CHARS:]


def _checksum(random: str) -> str:
    number = zlib.crc32(random.encode())
    digits = ""
    for _ in range(_CHECKSUM_CHARS):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
