"""Email notifications: one for each account problem that needs attention, and one when all problems are resolved.

A duty compares the account's current problems with the stored problems (column `accounts.told`). Code that changes an
account therefore does not have to send emails. A problem is reported after it has lasted for 15 minutes. Its record is
deleted after the problem has been gone for 15 minutes, so a problem that comes and goes is reported only once. The
stored problems and the emails are written in one transaction; the outbox sends the emails.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import trio

from svc.store import notifications

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.errors import ErrorNote
    from svc.model import Account, Advice, JsonObject, Metric

# Account states that need attention. Accounts leave other states automatically, or the user is already working on them.
_STATES = ("revoked", "permission_error", "resource_drift", "no_connection")
# The additional time that the problem `no_connection` must last before it is reported, because all Workers push again
# within this time after a service outage.
_NEXT_PUSHES_MS = 7_200_000
# The time that a problem must last before it is reported, and must be gone before its record is deleted.
_LASTING_MS = 900_000


@dataclass(frozen=True)
class Seen:
    """A stored problem: when it began, whether it was reported, and when it ended (None: it still exists).

    Times are epoch ms.
    """

    since: int
    told: bool = False
    gone_at: int | None = None


@dataclass(frozen=True)
class Step:
    """The outcome of comparing the current problems with the stored problems.

    `seen`: the problems to store. `news`: the names of the problems to report. `due_at`: when the next comparison is
    due (epoch ms); None if only a change of the account can make it due.
    """

    seen: dict[str, Seen]
    news: tuple[str, ...]
    due_at: int | None

    @property
    def well(self) -> bool:
        """True if no current or resolved problems are recorded."""
        return not self.seen


def next_step(before: Mapping[str, Seen], problems: Mapping[str, object], now: int, after_ms: int) -> Step:
    """Decide which problems to report.

    `before`: the stored problems. `problems`: the current problems. Both are keyed by name. `after_ms`: the time that a
    problem must last before it is reported, and must be gone before its record is deleted.
    """
    seen, news, due = {}, [], []
    for name in problems:
        record = replace(before.get(name, Seen(now)), gone_at=None)
        report_at = record.since + after_ms + (_NEXT_PUSHES_MS if name == "no_connection" else 0)
        if not record.told and now >= report_at:
            record = replace(record, told=True)
            news.append(name)
        elif not record.told:
            due.append(report_at)
        seen[name] = record
    for name, record in before.items():
        if name in problems or not record.told:
            continue  # the problem ended before it was reported, so its record is not kept
        gone = record if record.gone_at is not None else replace(record, gone_at=now)
        forget_at = (gone.gone_at or now) + after_ms
        if now < forget_at:
            seen[name] = gone
            due.append(forget_at)
    return Step(seen, tuple(news), min(due, default=None))


def problems_of(account: Account) -> dict[str, JsonObject]:
    """Return the account's problems that need attention.

    Maps a problem's name to the facts for its email (`mail/messages.py`).
    """
    found: dict[str, JsonObject] = {}
    # Cloudflare accepts most refused tokens again within an hour. If a token is refused for longer, the account's state
    # becomes `revoked`.
    transient = account.error is not None and account.error.code == "token_refused"
    if account.state in _STATES and not transient:
        error = account.error
        found[account.state] = {} if error is None else _facts_of(error)
    if "token_expires_soon" in account.warnings and account.state != "revoked":
        found["token_expires_soon"] = {"expires_at": account.token_expires_at}
    if account.advice is not None and account.advice.metric is not None and account.advice.level == "over":
        found["over"] = {
            "limit": _limit_facts(account.advice.metric, account.advice),
            "suggest": account.suggestion,
        }
    elif account.advice is not None and account.advice.unavailable and "over" in _seen(account.notified):
        found["over"] = {}  # keep the problem, because the usage is unavailable
    return found


def _facts_of(error: ErrorNote) -> JsonObject:
    return {"code": error.code, "message": error.message, "finding": error.finding}


def _limit_facts(metric: Metric, advice: Advice) -> JsonObject:
    usage = advice.metrics[metric]
    return {"metric": metric, "used": usage.busiest, "limit": usage.limit, "day": usage.busiest_day}


async def notify_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Send an email about each new problem to the account's user, and an email when all problems are resolved."""
    del timers
    before = _seen(account.notified)
    problems = problems_of(account)
    now = context.clock()
    step = next_step(before, problems, now, _LASTING_MS)
    if step.seen != before or step.due_at != account.notice_due_at:
        await context.store.run(
            notifications.enqueue(
                account.id,
                {name: asdict(record) for name, record in step.seen.items()},
                [{"trouble": name, **problems[name]} for name in step.news],
                well=step.well,
                due_at=step.due_at,
                now=now,
            )
        )
    return math.inf if step.due_at is None else trio.current_time() + (step.due_at - now) / 1000


def _seen(notified: JsonObject) -> dict[str, Seen]:
    """Return the stored problems by name. Also accepts the formats that other versions of the service store."""
    stored = notified.get("seen")
    seen = {}
    for name, fields in stored.items() if isinstance(stored, dict) else ():
        seen[name] = Seen(fields["since"], fields.get("told", False), fields.get("gone_at"))
    return seen
