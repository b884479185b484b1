"""When an account is looked at. A worker that pushes tells that script, cron, database and key are there, so the
platform is asked about an account that is well once a day only: about what no push tells (the token and its rights,
routes, DNS records, what was changed outside). Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.checks.worker_database import STOPPED_MS
from svc.actors.duty import spread

if TYPE_CHECKING:
    from svc.config import TimingConfig
    from svc.model import Account
    from svc.store.accounts import Due

_REFUSED_CHECK_S = 600.0


def every_s(account: Account, timing: TimingConfig, now: int) -> float:
    """How long after a look at the account the next one is due at the latest, in seconds. `now`: epoch ms."""
    if account.state == "permission_error":
        return while_refused_s(timing)
    return timing.health_well_every_s if is_vouched_for(account, now) else timing.health_every_s


def while_refused_s(timing: TimingConfig) -> float:
    """How often to look while the platform refuses the working token: good ones are refused for minutes to hours."""
    return min(timing.health_every_s, _REFUSED_CHECK_S)


def is_vouched_for(account: Account | Due, now: int) -> bool:
    """Whether the last look found the account well, and its worker has pushed since it could have stopped."""
    heard = account.heard_at is not None and now - account.heard_at < STOPPED_MS
    return heard and account.state == "ready" and account.suspected_at is None and account.well_at is not None


def wait_s(account: Account, timing: TimingConfig, now: int) -> float:
    """How long to wait after a look at `now` (epoch ms) for the next one, in seconds.

    Of an account that is well: until its own time of the day, so that however many are looked at in one hour, after a
    start or an incident, they are spread over the day again.
    """
    if is_vouched_for(account, now):
        return (_next_turn(account.edge_account_id, timing.health_well_every_s * 1000, now) - now) / 1000
    return every_s(account, timing, now)


def first_wait_s(due: Due, timing: TimingConfig, now: int) -> float:
    """How long to wait after the service's start for the first look, in seconds. What is overdue is spread."""
    if due.well_at is not None and is_vouched_for(due, now):
        turn_at = _next_turn(due.edge_account_id, timing.health_well_every_s * 1000, due.well_at)
        if turn_at > now:
            return (turn_at - now) / 1000
    return spread(due.edge_account_id) * timing.health_every_s


def first_advice_s(due: Due, timing: TimingConfig, now: int) -> float:
    """How long to wait after the service's start until advice may be due, in seconds. What is overdue is spread."""
    return max(spread(due.edge_account_id) * timing.health_every_s, ((due.advice_at or 0) - now) / 1000)


def _next_turn(edge_account_id: str, period_ms: float, after: int) -> float:
    """The first moment after `after` that is the account's own in its period (epoch ms)."""
    turn_at = after // period_ms * period_ms + spread(edge_account_id) * period_ms
    return turn_at if turn_at > after else turn_at + period_ms
