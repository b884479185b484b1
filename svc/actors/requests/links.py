"""Changes to an account's short links."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, TypeVar

from svc.errors import Conflict, Forbidden
from svc.ids import new_id
from svc.model import Link
from svc.store import links

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.model import Account, WantedLink

R = TypeVar("R")

_CODE_CHARS = 6
# Codes do not contain easily confused characters, because people read codes aloud and type them from paper. Codes do
# not contain vowels either. They therefore cannot be words, such as offensive words or one of model.RESERVED_CODES.
CODE_ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZbcdfghjkmnpqrstvwxyz"
# The number of attempts to find an unused random code. There are 48^6 codes. In an account with 10,000 links, the
# chance that two random codes in a row are already taken is one in a trillion.
_TRIES = 4


async def add(context: Context, account: Account, wanted: WantedLink, commit: Commit[Link, R]) -> R:
    """Add a link. If its code is None, the link gets a random code.

    Raises Conflict (codes link_host_required and link_exists), Forbidden (codes limit_reached and link_disabled), or
    Invalid if a destination is on the link host.
    """
    for _ in range(_TRIES - 1 if wanted.code is None else 0):
        try:
            return await _add(context, new_link(account, wanted, new_code(), context.clock()), commit)
        except (Conflict, Forbidden) as error:
            if error.code not in ("link_exists", "link_disabled"):
                raise
    return await _add(context, new_link(account, wanted, wanted.code or new_code(), context.clock()), commit)


async def _add(context: Context, link: Link, commit: Commit[Link, R]) -> R:
    return await context.store.run(commit(links.add_link(link, context.config.limits.links)))


def new_link(account: Account, wanted: WantedLink, code: str, now: int) -> Link:
    """Return a new link with this code. The caller has to store it."""
    return Link(
        id=new_id("lnk"),
        account_id=account.id,
        user_id=account.user_id,
        state="active",
        version=0,
        created_at=now,
        **{**vars(wanted), "code": code},
    )


def new_code() -> str:
    """Return a random code of six characters."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(_CODE_CHARS))
