"""The access and refresh tokens of a sign-in session. Each pair is derived from the previous pair.

The store contains only the digests of the tokens, and the salt of the newest pair. The newest pair can be derived from
this salt together with the previous refresh token, but not from either alone. A client may exchange the same refresh
token twice, in two tabs or after a lost response. Because the pair is derived, the client receives the same pair both
times, even if the service restarts in between.

All refresh tokens of a session start with the same secret, called the family. The store contains only the digests of
the newest two refresh tokens. For an older refresh token, the family identifies the session.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass, field

from svc.ids import new_secret, random_base32

_PREFIX = "svr_"
_FAMILY_CHARS = len(_PREFIX) + 26  # the 26 characters have 130 random bits


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
    """Derive the pair that replaced this refresh token. `salt` is the salt of the new pair."""
    return pair_of(family_of(refresh) + _derive("refresh", refresh, salt), salt)


def pair_of(refresh: str, salt: str) -> Pair:
    """Derive the pair that this refresh token is part of. `salt` is the salt of this pair."""
    return Pair("svs_" + _derive("access", refresh, salt), refresh, salt)


def family_of(refresh: str) -> str:
    """Return the family: the prefix that all refresh tokens of a session share."""
    return refresh[:_FAMILY_CHARS]


def _derive(purpose: str, refresh: str, salt: str) -> str:
    """Derive a secret of 256 bits, in URL-safe characters."""
    derived = hmac.digest(salt.encode(), f"{purpose} {refresh}".encode(), "sha256")
    return base64.urlsafe_b64encode(derived).decode().rstrip("=")
