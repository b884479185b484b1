"""The times of an account's health checks.

A push proves that the script, cron trigger, database and key are in place. A healthy account whose Worker pushes is
therefore checked only once a day. This check covers the things that a push does not prove: the token and its
permissions, routes, DNS records, and changes made outside the service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.checks.worker_database import STOPPED_MS
from svc.actors.duty import spread

if TYPE_CHECKING:
    from svc.config import TimingConfig
    from svc.model import Account
    from svc.store.account_schedule import Due

_REFUSED_CHECK_S = 600.0


def every_s(account: Account, timing: TimingConfig, now: int) -> float:
    """Return the maximum time between two health checks, in seconds. `now`: epoch ms."""
    if account.state == "permission_error":
        return while_refused_s(timing)
    return timing.health_well_every_s if is_confirmed_by_pushes(account, now) else timing.health_every_s


def while_refused_s(timing: TimingConfig) -> float:
    """Return the interval, in seconds, between checks while Cloudflare refuses the token.

    A shorter interval would not help, because an incident at Cloudflare can last for hours.
    """
    return min(timing.health_every_s, _REFUSED_CHECK_S)


def is_confirmed_by_pushes(account: Account | Due, now: int) -> bool:
    """Return True if the last check found no problem and the Worker has pushed recently."""
    has_pushed = account.heard_at is not None and now - account.heard_at < STOPPED_MS
    return has_pushed and account.state == "ready" and account.suspected_at is None and account.well_at is not None


def wait_s(account: Account, timing: TimingConfig, now: int) -> float:
    """Return the time from a health check at `now` (epoch ms) to the next check, in seconds.

    A healthy account is checked at a fixed time of day. The checks of all accounts are therefore evenly spread over the
    day, even if many accounts had their last check in the same hour.
    """
    if is_confirmed_by_pushes(account, now):
        return (_next_slot(account.edge_account_id, timing.health_well_every_s * 1000, now) - now) / 1000
    return every_s(account, timing, now)


def first_wait_s(due: Due, timing: TimingConfig, now: int) -> float:
    """Return the time from the service's start to an account's first health check, in seconds.

    Overdue checks are spread over `health_every_s`.
    """
    if due.well_at is not None and is_confirmed_by_pushes(due, now):
        slot_at = _next_slot(due.edge_account_id, timing.health_well_every_s * 1000, due.well_at)
        if slot_at > now:
            return (slot_at - now) / 1000
    return spread(due.edge_account_id) * timing.health_every_s


def first_advice_s(due: Due, timing: TimingConfig, now: int) -> float:
    """Return the time from the service's start until an account's advice may be due, in seconds.

    Overdue advice is spread over `health_every_s`.
    """
    return max(spread(due.edge_account_id) * timing.health_every_s, ((due.advice_at or 0) - now) / 1000)


def _next_slot(edge_account_id: str, period_ms: float, after: int) -> float:
    """Return the time of the account's next scheduled check after `after` (both epoch ms), one check per period."""
    slot_at = after // period_ms * period_ms + spread(edge_account_id) * period_ms
    return slot_at if slot_at > after else slot_at + period_ms
