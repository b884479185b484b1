"""The format of API keys. Scanners for leaked secrets can recognize it.

    svc_  30 random characters (178 bits)  6 checksum characters

The characters are 0-9, A-Z and a-z, so that a double click selects the whole key.

The checksum is the CRC-32 (zlib) of the random characters. It is written in base 62 with the characters above as
digits, the most significant digit first. Large code hosts use the same format. With the checksum, which is not secret,
scanners can check offline that a text has the format of a key.
"""

from __future__ import annotations

import re
import secrets
import string
import zlib

PREFIX = "svc_"
# The number of characters at the start of a key that are stored and shown, so that users can distinguish their keys.
# The other 22 random characters (131 bits) stay secret.
SHOWN_CHARS = len(PREFIX) + 8

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_CHARS = 30
_CHECKSUM_CHARS = 6  # six digits are enough for a CRC-32, because 62^6 is more than 2^32
PATTERN = f"{PREFIX}[0-9A-Za-z]{{{_RANDOM_CHARS + _CHECKSUM_CHARS}}}"


def new_api_key() -> str:
    """Generate a random API key."""
    random = "".join(secrets.choice(_DIGITS) for _ in range(_RANDOM_CHARS))
    return f"{PREFIX}{random}{_checksum(random)}"


def is_api_key(text: str) -> bool:
    """Return True if the text has the format of a key and a correct checksum."""
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
