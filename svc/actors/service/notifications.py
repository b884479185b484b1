"""What an account's user is told by e-mail: each trouble that needs a hand, once, and once that all is well again.

A duty compares what the account shows now with what was seen before (`accounts.told`), so whoever changes an account
need not think of e-mails. A trouble is told when it has lasted for a while, and forgotten when it has been gone as
long: one that comes and goes is not told again and again. What was seen and the e-mails are written in one transaction;
the outbox sends them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import trio

from svc.clock import day_text
from svc.store import notifications

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, Advice, JsonObject, Metric

# States that need a hand; any other mends itself, or somebody is at work on it.
_STATES = ("revoked", "permission_error", "resource_drift", "no_connection")
# A worker that is silent because the service was away reports within two hours of its return.
_NEXT_PUSHES_MS = 7_200_000
# A problem that lasts this long is reported by e-mail, and so is its end when it is gone for this long.
_LASTING_MS = 900_000


@dataclass(frozen=True)
class Seen:
    """A trouble: since when, whether it was told, and since when it is gone (epoch ms)."""

    since: int
    told: bool = False
    gone_at: int | None = None


@dataclass(frozen=True)
class Step:
    """What follows from a look: what is seen now, what is to be told, and when to look again (epoch ms)."""

    seen: dict[str, Seen]
    news: tuple[str, ...]
    due_at: int | None

    @property
    def well(self) -> bool:
        """Nothing is wrong, and has not been for a while."""
        return not self.seen


def look(before: Mapping[str, Seen], troubles: Mapping[str, object], now: int, after_ms: int) -> Step:
    """What to tell of `troubles`. `after_ms`: how long one lasts, or is gone, before that counts. Pure."""
    seen, news, due = {}, [], []
    for name in troubles:
        one = replace(before.get(name, Seen(now)), gone_at=None)
        tell_at = one.since + after_ms + (_NEXT_PUSHES_MS if name == "no_connection" else 0)
        if not one.told and now >= tell_at:
            one = replace(one, told=True)
            news.append(name)
        elif not one.told:
            due.append(tell_at)
        seen[name] = one
    for name, one in before.items():
        if name in troubles or not one.told:
            continue  # one that ended before it was told is never told
        gone = one if one.gone_at is not None else replace(one, gone_at=now)
        forget_at = (gone.gone_at or now) + after_ms
        if now < forget_at:
            seen[name] = gone
            due.append(forget_at)
    return Step(seen, tuple(news), min(due, default=None))


def troubles_of(account: Account) -> dict[str, JsonObject]:
    """What needs a hand, by its name, with the code and the message of its error, as far as it has them."""
    found: dict[str, JsonObject] = {}
    # A refused token is asked about for an hour, in which most are accepted again; then it is `revoked`.
    transient = account.error is not None and account.error.code == "token_refused"
    if account.state in _STATES and not transient:
        error = account.error
        found[account.state] = {} if error is None else {"code": error.code, "message": error.message}
    if "token_expires_soon" in account.warnings and account.state != "revoked":
        found["token_expires_soon"] = {"expires_at": account.token_expires_at}
    if account.advice is not None and account.advice.metric is not None and account.advice.level == "over":
        found["over"] = {"message": _reached(account.advice.metric, account.advice), "suggest": account.suggestion}
    elif account.advice is not None and account.advice.unavailable and "over" in _seen(account.told):
        found["over"] = {}  # whether it is well again is not known
    return found


# What is at its limit: of how many, on which day.
_REACHED = {
    "requests": "The workers of the account had {used:,} requests on {day}; its plan allows {limit:,} a day.",
    "writes": "The databases of the account wrote {used:,} rows on {day}; its plan allows {limit:,} a day.",
    "reads": "The databases of the account read {used:,} rows on {day}; its plan allows {limit:,} a day.",
    "size": "The worker's database holds {used_mb:,} MB of the {limit_mb:,} that the account's plan allows.",
}


def _reached(metric: Metric, advice: Advice) -> str:
    one = advice.metrics[metric]
    day = "" if one.busiest_day is None else day_text(one.busiest_day)
    return _REACHED[metric].format(
        used=one.busiest, limit=one.limit, day=day, used_mb=one.busiest // 10**6, limit_mb=one.limit // 10**6
    )


async def tell_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Tell the account's user what has changed for the worse or for the better."""
    del timers
    before = _seen(account.told)
    troubles = troubles_of(account)
    now = context.clock()
    step = look(before, troubles, now, _LASTING_MS)
    if step.seen != before or step.due_at != account.notice_due_at:
        await context.store.run(
            notifications.tell(
                account.id,
                {name: asdict(one) for name, one in step.seen.items()},
                [{"trouble": name, **troubles[name]} for name in step.news],
                well=step.well,
                due_at=step.due_at,
                now=now,
            )
        )
    return math.inf if step.due_at is None else trio.current_time() + (step.due_at - now) / 1000


def _seen(told: JsonObject) -> dict[str, Seen]:
    """What was stored, by the names of its fields: another version of the service may have written it."""
    stored = told.get("seen")
    found = {}
    for name, one in stored.items() if isinstance(stored, dict) else ():
        found[name] = Seen(one["since"], one.get("told", False), one.get("gone_at"))
    return found
