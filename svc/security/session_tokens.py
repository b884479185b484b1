"""The two tokens of a page session, and how the next pair follows from the one before. Pure.

The store has digests of tokens, and the salt by which the session's newest pair was made. With an old refresh token and
the salt the newer pair can be made again, so whoever exchanges one token twice, in two tabs or after an answer that was
lost, gets the same pair: there is one newest cookie, in whatever order answers arrive, also after a restart. The salt
alone, or the token alone, makes nothing.

All refresh tokens of a session begin with the same secret, its family. So a token that was exchanged long ago is known
for one of this session's, though only the newest two are stored.
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
    """An access and a refresh token, and the salt that made them."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    salt: str = field(repr=False)


def first_pair() -> Pair:
    """The pair of a new session."""
    return pair_of(new_secret(_PREFIX + random_base32(26)), new_secret())


def next_pair(refresh: str) -> Pair:
    """A new pair for this refresh token."""
    return pair_after(refresh, new_secret())


def pair_after(refresh: str, salt: str) -> Pair:
    """The pair that was made for this refresh token by this salt."""
    return pair_of(family_of(refresh) + _made("refresh", refresh, salt), salt)


def pair_of(refresh: str, salt: str) -> Pair:
    """The pair of which this is the refresh token."""
    return Pair("svs_" + _made("access", refresh, salt), refresh, salt)


def family_of(refresh: str) -> str:
    """What all refresh tokens of a session begin with."""
    return refresh[:_FAMILY_CHARS]


def _made(purpose: str, refresh: str, salt: str) -> str:
    """256 bits in URL-safe characters."""
    made = hmac.digest(salt.encode(), f"{purpose} {refresh}".encode(), "sha256")
    return base64.urlsafe_b64encode(made).decode().rstrip("=")
