"""State and settings shared by all handlers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from quart import current_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from edge_worker.emulator.faults import Faults
    from edge_worker.emulator.runtime.runtime import Runtime
    from edge_worker.emulator.state import World

KEPT_LOG = 20_000
# Permissions that a token can grant. all_zones: any permission on the account and on all zones, but on a single zone
# only permissions that the creating token has. held: only permissions that the creating token has. silent: like held,
# but other permissions are omitted without an error. surplus: like all_zones, and the new token gets an additional
# permission.
Minting = Literal["all_zones", "held", "silent", "surplus"]


# Error for a call on a zone outside the account, as status/code: refused is 403/10000 or 403/9109, invalid is 400/1003,
# unroutable is 404/7003. All of them occur in practice, depending on the product, and none is documented.
ZoneGone = Literal["refused", "invalid", "unroutable"]

# Response to a new route in an inactive zone: 400, 403/10000, or success. Cloudflare docs
# (workers/configuration/routing/routes) require an active zone and do not document the API's response.
InactiveZone = Literal["refuses", "forbids", "accepts"]


@dataclass
class Window:
    """A token's calls in the current window, and the time until which the token is blocked (epoch ms of the real
    clock).
    """

    began_at: int
    calls: int = 0
    blocked_until: int = 0


@dataclass
class Platform:
    """State shared by all handlers: the world, the runtime that runs it, and the failure settings."""

    world: World
    runtime: Runtime
    faults: Faults
    edge_url: str
    real_now: Callable[[], int]  # epoch ms
    token_delay_ms: int  # a new value is rejected for this time, as if not yet distributed
    token_spread_ms: int  # for this time after the delay, some calls are rejected, as if some locations lacked it
    minting: Minting  # permissions that a token can grant to a new token
    slow_one_in: int  # one in N responses is slow; 0: none
    slow_ms: int  # delay of a slow response
    refuse_one_in: int  # one in N calls with a valid token is rejected; 0: none
    firewall: bool  # True: bodies that resemble an attack are rejected
    firewall_also: str = ""  # additional pattern to reject
    renamed_permission: str = ""  # the permission with this name is listed under another one
    ignores_fail_open: bool = False  # request_limit_fail_open is neither stored nor shown
    cron_delay_s: float = 900  # a new cron starts within this time (Cloudflare docs: cron-triggers)
    cron_missed_one_in: int = 200  # one in N cron runs is skipped; 0: none
    dice: random.Random = field(default_factory=lambda: random.Random(20261121))  # noqa: S311 (no secret)
    zone_gone: ZoneGone = "refused"  # response to calls on a zone that is not in the token's account
    inactive_zone: InactiveZone = "refuses"  # response to a new route in an inactive zone
    # calls per token and window; a token that exceeds it is blocked for rate_window_s; 0: no limit
    rate_limit: int = 1200
    rate_window_s: float = 300
    windows: dict[str, Window] = field(default_factory=dict)  # by token id
    requests: list[dict[str, Any]] = field(default_factory=list)  # the API's log, without any token's value
    egress: list[dict[str, Any]] = field(default_factory=list)  # the Workers' own fetches
    # Deployed versions, in order: account id, script, version id.
    uploads: list[tuple[str, str, str]] = field(default_factory=list)
    cron_runs: list[dict[str, Any]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)  # output of the runtime

    def now(self) -> int:
        """Return the emulated time in epoch ms."""
        return self.real_now() + round(self.world.offset_s * 1000)

    def blocked_s(self, token_id: str) -> float:
        """Count a call of the token, and return the number of seconds for which it is blocked, or 0."""
        now = self.real_now()
        window = self.windows.setdefault(token_id, Window(now))
        if now >= window.blocked_until and now - window.began_at >= self.rate_window_s * 1000:
            window = self.windows[token_id] = Window(now)
        window.calls += 1
        if self.rate_limit and window.calls > self.rate_limit and now >= window.blocked_until:
            window.blocked_until = now + round(self.rate_window_s * 1000)
        return max(0, window.blocked_until - now) / 1000

    def log_egress(self, call: dict[str, Any]) -> None:
        """Log a fetch that a Worker sent."""
        self.egress.append(call)
        del self.egress[:-KEPT_LOG]

    def log_request(self, call: dict[str, Any]) -> None:
        """Log a call to the API."""
        self.requests.append(call)
        del self.requests[:-KEPT_LOG]


def platform() -> Platform:
    """Return the platform of the current request."""
    return cast("Platform", current_app.extensions["platform"])
