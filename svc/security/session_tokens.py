"""The access and refresh tokens of a sign-in session. Each pair is derived from the previous pair. No I/O.

The store contains the digests of a session's tokens, and the salt of its newest pair. The previous refresh token and
this salt determine the newest pair. If a client exchanges the same token twice, in two tabs or after a lost response,
it therefore gets the same pair both times, even if the service restarts in between. Neither the salt nor the token
alone is sufficient to derive the pair.

All refresh tokens of a session start with the same secret, called the family. The family identifies the session to
which an old refresh token belongs, even though only the newest two tokens are stored.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass, field

from svc.ids import new_secret, random_base32

_PREFIX = "svr_"
_FAMILY_CHARS = len(_PREFIX) + 26  # 130 bits


@dataclass(frozen=True)
class Pair:
    """An access token, a refresh token, and the salt from which they were derived."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    salt: str = field(repr=False)


def first_pair() -> Pair:
    """Create the pair of a new session."""
    return pair_of(new_secret(_PREFIX + random_base32(26)), new_secret())


def next_pair(refresh: str) -> Pair:
    """Create a new pair that replaces this refresh token."""
    return pair_after(refresh, new_secret())


def pair_after(refresh: str, salt: str) -> Pair:
    """Derive the pair that replaced this refresh token. `salt` is the salt of that pair."""
    return pair_of(family_of(refresh) + _derive("refresh", refresh, salt), salt)


def pair_of(refresh: str, salt: str) -> Pair:
    """Derive the pair that contains this refresh token. `salt` is the salt of that pair."""
    return Pair("svs_" + _derive("access", refresh, salt), refresh, salt)


def family_of(refresh: str) -> str:
    """Return the prefix that all refresh tokens of a session share."""
    return refresh[:_FAMILY_CHARS]


def _derive(purpose: str, refresh: str, salt: str) -> str:
    """Derive a 256-bit secret, encoded in URL-safe characters."""
    derived = hmac.digest(salt.encode(), f"{purpose} {refresh}".encode(), "sha256")
    return base64.urlsafe_b64encode(derived).decode().rstrip("=")
