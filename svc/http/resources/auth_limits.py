"""The limits on requests to /auth.

Attempts are counted per network before the body is read. Wrong passwords are also counted per email address, across all
networks (`password_check`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.http.serving.credentials import admit, networks_of
from svc.ids import digest
from svc.limits import SlidingLimit

if TYPE_CHECKING:
    from svc.clock import Clock
    from svc.http.serving.requests import RequestInfo
    from svc.security.ip_networks import IpAddress
    from svc.store.users import MailPurpose

# The maximum number of emails to one address per hour. It allows several attempts, but keeps clients from flooding a
# stranger with emails.
_EMAILS_AN_HOUR = 5
# The limit for a /24 or /48 network, as a multiple of the limit for a client's own network. These networks may contain
# several customers of a provider, but more than this number of customers rarely sign in within the same minute.
_NETWORKS_AROUND = 5


class NetworkLimit:
    """A limit per minute for a client's own network, and five times that limit for the larger network around it."""

    def __init__(self, per_minute: int) -> None:
        self._own = SlidingLimit(per_minute)
        self._around = SlidingLimit(per_minute * _NETWORKS_AROUND)

    def count(self, client: IpAddress | None, now: int) -> None:
        """Count an attempt. Raises ServiceError rate_limited if the attempt exceeds a limit."""
        for limit, network in zip((self._own, self._around), networks_of(client), strict=True):
            admit(limit, network, now)


class AuthLimits:
    """The limits on attempts per network, and on emails per address, that all resources of /auth share."""

    def __init__(self, sign_ins_per_minute: int, clock: Clock) -> None:
        self._clock = clock
        self._tries = NetworkLimit(sign_ins_per_minute)
        self._emails = SlidingLimit(_EMAILS_AN_HOUR, window_s=3600)

    def count_try(self, request: RequestInfo) -> None:
        """Count an attempt from the client's network. Raises ServiceError rate_limited if it exceeds a limit."""
        self._tries.count(request.client, self._clock())

    def may_send(self, purpose: MailPurpose, address: str) -> bool:
        """Count an email to `address` for this purpose. Return True if the address is still within its hourly limit.

        Each purpose has a separate limit. Otherwise, requests to resend a confirmation could block password reset
        emails, even if no confirmation is sent.
        """
        return self._emails.count(f"{purpose} {digest(address)}", self._clock()).allowed
