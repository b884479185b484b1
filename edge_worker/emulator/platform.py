"""What all handlers share."""

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
# all_zones: any, but on a single zone only those that it holds itself; held: only those; silent: the others are left
# out of the new token, and nothing is said; surplus: as all_zones, and the new token gets one more, unasked.
Minting = Literal["all_zones", "held", "silent", "surplus"]


# By product 403/10000 or 403/9109; 400/1003; 404/7003. All are known in the field, none is documented.
ZoneGone = Literal["refused", "invalid", "unroutable"]

# How a zone that is not active answers a new route: 400, 403/10000, or with the route. Platform docs
# (workers/configuration/routing/routes) require an active zone and do not document the API's answer.
InactiveZone = Literal["refuses", "forbids", "accepts"]


@dataclass
class Window:
    """A token's calls in the running window, and until when it is blocked (real epoch ms)."""

    began_at: int
    calls: int = 0
    blocked_until: int = 0


@dataclass
class Platform:
    """What all handlers share: the world, the runtime that runs it, and how rude the API is."""

    world: World
    runtime: Runtime
    faults: Faults
    edge_url: str
    real_now: Callable[[], int]  # epoch ms
    token_delay_ms: int  # how long a new value is refused, as if it had not spread yet
    token_spread_ms: int  # how long after that some of its calls are still refused: the platform's places disagree
    minting: Minting  # which rights a token that makes another may give it
    slow_one_in: int  # one answer in this number is slow; 0: none
    slow_ms: int  # by how much
    refuse_one_in: int  # one call in this number is refused as if its token were no good; 0: none
    firewall: bool  # whether it looks at bodies at all
    firewall_also: str = ""  # one more pattern that it refuses
    renamed_right: str = ""  # the right of this name is listed under another one
    ignores_fail_open: bool = False  # what a route is to do past the day's requests is neither kept nor shown
    cron_delay_s: float = 900  # a new cron begins to fire somewhen in this time (platform docs: cron-triggers)
    cron_missed_one_in: int = 200  # one run of a cron in this number is left out; 0: none
    dice: random.Random = field(default_factory=lambda: random.Random(20261121))  # noqa: S311 (no secret)
    zone_gone: ZoneGone = "refused"  # how calls on a zone answer that is in another account, or in none
    inactive_zone: InactiveZone = "refuses"  # what a zone that is not active does with a new route
    rate_limit: int = 1200  # calls of one token in a window, after which it is blocked for as long; 0: no limit
    rate_window_s: float = 300
    windows: dict[str, Window] = field(default_factory=dict)  # by token id
    requests: list[dict[str, Any]] = field(default_factory=list)  # the API's log, without any token's value
    egress: list[dict[str, Any]] = field(default_factory=list)  # the workers' own fetches
    # What went live, in this order: account id, script, version id.
    uploads: list[tuple[str, str, str]] = field(default_factory=list)
    cron_runs: list[dict[str, Any]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)  # what the runtime printed

    def now(self) -> int:
        """Return the emulated clock, epoch ms."""
        return self.real_now() + round(self.world.offset_s * 1000)

    def blocked_s(self, token_id: str) -> float:
        """Count a call of the token; return how long it is blocked, in seconds: 0 when it is not."""
        now = self.real_now()
        window = self.windows.setdefault(token_id, Window(now))
        if now >= window.blocked_until and now - window.began_at >= self.rate_window_s * 1000:
            window = self.windows[token_id] = Window(now)
        window.calls += 1
        if self.rate_limit and window.calls > self.rate_limit and now >= window.blocked_until:
            window.blocked_until = now + round(self.rate_window_s * 1000)
        return max(0, window.blocked_until - now) / 1000

    def note_egress(self, call: dict[str, Any]) -> None:
        """Log a worker's own fetch."""
        self.egress.append(call)
        del self.egress[:-KEPT_LOG]

    def note_request(self, call: dict[str, Any]) -> None:
        """Log a call of the API."""
        self.requests.append(call)
        del self.requests[:-KEPT_LOG]


def platform() -> Platform:
    """Return the platform behind the running request."""
    return cast("Platform", current_app.extensions["platform"])
