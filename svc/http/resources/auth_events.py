"""The events that /auth records in the user's audit log.

Other endpoints record their events through `Write`, which /auth does not use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.model import Event
from svc.store.engines.watch import small_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from svc.clock import Clock
    from svc.errors import Code
    from svc.model import OwnAction, User
    from svc.security.ip_networks import IpAddress
    from svc.store.tx import Tx

T = TypeVar("T")


class AuthEvents:
    """Records events for requests without a credential. In its methods, `client` is the client's IP address."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def with_events(
        self,
        tx: Tx[T],
        action: OwnAction,
        via: str,
        client: IpAddress | None,
        whose: Callable[[T], Iterable[tuple[int, str | None]]],
    ) -> Tx[T]:
        """Return a transaction that runs `tx` and records its events.

        `whose`: receives the value of `tx` and returns the (user id, target) pairs of the events to record.
        """
        now, ip = self._clock(), _address(client)

        def with_event() -> Tx[T]:
            value = yield from tx
            for user_id, target in whose(value):
                yield Event(user_id, now, via, ip, action, target, "done")
            return value

        return with_event()

    def wrong_password(self, user: User | None, via: str, client: IpAddress | None, outcome: Code) -> Tx[None]:
        """Record a wrong password for this user.

        If the user is unknown (None), write something else that takes the same time, so that the timing does not reveal
        which users exist.
        """
        now, ip = self._clock(), _address(client)

        def with_event() -> Tx[None]:
            if user is None:
                yield from small_write()
            else:
                yield Event(user.id, now, via, ip, "password.refuse", None, outcome)

        return with_event()


def _address(client: IpAddress | None) -> str | None:
    return None if client is None else str(client)


def own_event(user: User | None) -> list[tuple[int, None]]:
    """Return the (user id, target) pairs of the events to record.

    The target is None, because the event is about the user.
    """
    return [] if user is None else [(user.id, None)]
