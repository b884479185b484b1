"""Creates many short links in one transaction, for a bulk request or an import."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.actors.requests.links import new_code, new_link
from svc.errors import ServiceError
from svc.store.disabled_objects import disabled_codes
from svc.store.links import add_links, used_codes
from svc.store.locks import lock_user
from svc.store.tx import UNCHANGED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc.model import Account, Link, WantedLink
    from svc.store.tx import Tx


def add_wanted(
    account: Account,
    wanted: Sequence[WantedLink | ServiceError],
    default_limit: int,
    now: int,
    draw: Callable[[], str] = new_code,
    *,
    unstored: int = 0,
) -> Tx[list[Link | ServiceError]]:
    """Return a transaction that adds as many of the links as possible.

    For each element of `wanted`, in order, the transaction returns the new link or an error.

    An error in `wanted` is returned unchanged. `draw` returns a random code. For `default_limit`
    and `unstored`, see `add_links`.

    Raises NotFound, Conflict (code link_host_required) or Forbidden (code limit_reached). In these cases, no link is
    added.
    """
    valid = [item for item in wanted if not isinstance(item, ServiceError)]
    if not valid:
        yield UNCHANGED
        return list(wanted)  # type: ignore[arg-type]  # all are ServiceErrors
    codes = {item.code for item in valid if item.code is not None}
    batch = []
    for item in valid:
        code = item.code or _new_unused(codes, draw)
        codes.add(code)
        batch.append(new_link(account, item, code, now))
    # The lock prevents other requests from taking a code between the check and the insert. About one in several
    # thousand batches draws a code that is already taken.
    yield from lock_user(account.user_id)
    drawn = {link.code for link, item in zip(batch, valid, strict=True) if item.code is None}
    while taken := {*(yield from used_codes(account.id, drawn)), *(yield from disabled_codes(account.id, drawn))}:
        for place, link in enumerate(batch):
            if link.code in taken:
                batch[place] = replace(link, code=_new_unused(codes, draw))
                codes.add(batch[place].code)
        drawn = {link.code for link, item in zip(batch, valid, strict=True) if item.code is None}
    results = yield from add_links(batch, default_limit, unstored=unstored)
    if not count_links(results):
        yield UNCHANGED
    added = iter(results)
    return [item if isinstance(item, ServiceError) else next(added) for item in wanted]


def count_links(results: Sequence[Link | ServiceError]) -> int:
    """Return the number of links among the results."""
    return sum(not isinstance(result, ServiceError) for result in results)


def _new_unused(codes: set[str], draw: Callable[[], str]) -> str:
    while (code := draw()) in codes:
        pass
    return code
