"""Reconciles the Worker's ledger, the Worker's totals and the service's stored totals for a UTC day. No I/O.

The Worker records accepted events in a ledger. Separately, it folds events: it adds them to its totals (see
docs/develop/worker-counting.md). The compared numbers therefore have independent origins: accepted events, folded
events, events that the service acknowledged, and events that the service stored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, NonNegativeInt, TypeAdapter

from svc.clock import day_of, day_text
from svc.model import OUTSIDE_REASONS
from svc.worker.event_lines import read_events, read_events_of, read_tallies
from svc.worker.rows import Row, Statement, integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# The steps at which two numbers can differ although they should be equal (docs/use/ledger.md).
Fault = Literal["counting", "unknown_target", "refused", "push", "store", "set_back"]
# The reasons why the Worker did not count an event. With `invalid`, the Worker did not even accept the event.
DropReason = Literal["budget", "busy", "too_old", "invalid"]

# The number of days for which the Worker keeps a day's ledger. The Worker also stops sending parts of a day after this
# time. The Worker may delete the day's totals earlier.
KEPT_DAYS = 35


def _valid(column: str) -> str:
    """Return SQL for the JSON in a column, or for an empty object if the JSON is invalid.

    Without this check, D1 would reject the whole read because of a single invalid value.
    """
    return f"case when json_valid({column}) then {column} else '{{}}' end"


# Read the table `day` by its key, because the table can have 350,000 rows.
_FOLDED = (
    f"select day.target as target, {_valid('day.totals')} ->> '$.views' as views,"  # noqa: S608  # names of this file
    f" (select cast(total(value) as integer) from json_each({_valid('day.totals')}, '$.bots')) as bots"
)
_OF_DAY = " and day.day = cast(?1 as integer)"
_OF_LEDGER = (
    f"{_FOLDED} from ledger join json_each({_valid('ledger.counts')}) one join day on day.target = one.key{_OF_DAY}"
    " where ledger.day = cast(?1 as integer) and ledger.entry = 'accepted'"
)
_OF_STORED = f"{_FOLDED} from json_each(?2) one join day on day.target = one.value{_OF_DAY}"
# Events of closed days are not read here. The Worker drops them when it sorts events, and records them in the ledger as
# dropped.
_TALLIES = (
    "select tally from event_log where tally <> '' and cast(?1 as integer) >"  # noqa: S608  # names of this file
    f" (select coalesce(max({_valid('value')} ->> 'day'), -1) from meta where key = 'state')"
)
# The JSON of a part begins with the part's day.
_OF_PART = " where instr(substr(part, 1, 30), ?1) > 0"
_PARTS = f"select count(*) as parts from outbox{_OF_PART}"  # noqa: S608  # names of this file
_ROW = "case when one.type = 'array' then one.value end"
_QUEUED = (
    f"select {_ROW} ->> 0 as target, max({_ROW} ->> 1) as views, max({_ROW} ->> 2) as bots"  # noqa: S608  # names of this file
    f" from outbox, json_each({_valid('outbox.part')}, '$.days') one{_OF_PART} group by 1"
)
_STATE = "select value from meta where key = 'state'"

_OF_TARGET = f"json_extract({_valid('counts')}, '$.' || ?2)"
_LEDGER_OF_TARGET = (
    f"select entry, json_object(?2, {_OF_TARGET}) as counts from ledger"  # noqa: S608  # names of this file
    f" where day = cast(?1 as integer) and {_OF_TARGET} is not null"
)
_QUEUED_OF_TARGET = f"select * from ({_QUEUED}) where target = ?2"  # noqa: S608  # names of this file

_Pairs = TypeAdapter(dict[str, tuple[int, int]])


@dataclass(frozen=True)
class Events:
    """Numbers of views by people and of hits by bots."""

    views: int = 0
    bots: int = 0

    def __add__(self, other: Events) -> Events:
        return Events(self.views + other.views, self.bots + other.bots)

    def __sub__(self, other: Events) -> Events:
        return Events(self.views - other.views, self.bots - other.bots)

    def most(self, other: Events) -> Events:
        """Return the larger number of views and the larger number of bot hits."""
        return Events(max(self.views, other.views), max(self.bots, other.bots))

    def within(self, least: Events, most: Events) -> bool:
        """Return True if both numbers are between `least` and `most`, inclusive."""
        return least.views <= self.views <= most.views and least.bots <= self.bots <= most.bots


NONE = Events()


@dataclass(frozen=True)
class Stored:
    """The service's total for a target and day, and the sum of the hours of that day."""

    total: Events = NONE
    hours: Events = NONE


@dataclass
class WorkerDay:
    """The Worker's numbers for a day, by target, at one point in time.

    `closed`: True if the Worker has closed the day. `since`: the time at which the database began to count (epoch ms).

    `accepted`: events accepted for counting. Each of these was `dropped` (by reason), is `waiting` to be folded, or is
    `folded` into the day's rows. `has_totals`: False if the day's rows were deleted because of their age. In that case,
    `folded` is empty.

    `pushed`, `refused`, `unknown`: the highest totals that the service acknowledged, rejected, or ignored because it
    does not know the target. `queued_parts`: the number of this day's parts in the outbox. `queued`: the highest totals
    in these parts.
    """

    closed: bool
    since: int = 0
    has_totals: bool = True
    queued_parts: int = 0
    accepted: dict[str, Events] = field(default_factory=dict)
    dropped: dict[str, dict[DropReason, Events]] = field(default_factory=dict)
    waiting: dict[str, Events] = field(default_factory=dict)
    folded: dict[str, Events] = field(default_factory=dict)
    pushed: dict[str, Events] = field(default_factory=dict)
    refused: dict[str, Events] = field(default_factory=dict)
    unknown: dict[str, Events] = field(default_factory=dict)
    queued: dict[str, Events] = field(default_factory=dict)

    @property
    def every_count(self) -> list[Events]:
        """All counts, for validation."""
        by_target = (self.accepted, self.waiting, self.folded, self.pushed, self.refused, self.unknown, self.queued)
        counts = [events for counts in by_target for events in counts.values()]
        return counts + [events for reasons in self.dropped.values() for events in reasons.values()]

    def add(self, entry: str, target: str, events: Events) -> None:
        """Add events to one of the counts. `entry`: the name of the count in the ledger, such as "busy"."""
        whole: dict[str, dict[str, Events]] = {
            "accepted": self.accepted,
            "pushed": self.pushed,
            "refused": self.refused,
            "unknown_target": self.unknown,
        }
        if entry in whole:
            whole[entry][target] = whole[entry].get(target, NONE) + events
        elif entry in ("budget", "busy", "too_old", "invalid"):
            reasons = self.dropped.setdefault(target, {})
            reasons[entry] = reasons.get(entry, NONE) + events  # type: ignore[index,call-overload]  # one of them

    def wait(self, target: str, events: Events) -> None:
        """Record further events of `target` that are waiting to be folded."""
        self.waiting[target] = self.waiting.get(target, NONE) + events

    def counted_drops(self, targets: Iterable[str]) -> dict[DropReason, int]:
        """Return the number of dropped events of these targets, by reason."""
        summed: dict[DropReason, int] = {}
        for target in targets:
            for reason, events in self.dropped.get(target, {}).items():
                summed[reason] = summed.get(reason, 0) + events.views + events.bots
        return summed

    @property
    def all_drops(self) -> dict[DropReason, int]:
        """The number of dropped events on the day by reason, including events without a known target."""
        return self.counted_drops(self.dropped)


@dataclass(frozen=True)
class TargetDay:
    """The result of the comparison for a target and day.

    `agrees`: True if no numbers differ. None if the Worker's numbers are unknown; in that case, only `stored` is set.
    `counted`: the Worker's total. None if unknown, or if the total was deleted because of its age. `fault`: the first
    step at which the numbers differ. `off_by`: the number after that step minus the number before the step. It is
    negative if events are missing.
    """

    target: str
    stored: Events
    accepted: Events | None = None
    waiting: Events | None = None
    counted: Events | None = None
    queued: Events | None = None
    pushed: Events | None = None
    dropped: Mapping[DropReason, int] = field(default_factory=dict)
    agrees: bool | None = None
    fault: Fault | None = None
    off_by: Events | None = None


class _State(BaseModel):
    day: int = -1
    kept_from: NonNegativeInt = 0
    since: NonNegativeInt | None = None  # None until the cron job has run


def statements(day: int, stored: Mapping[str, Stored]) -> list[Statement]:
    """Return the batch of statements that reads a day (day number).

    The number of rows read does not depend on the size of the database.

    `stored`: the service's totals by target. The day's row of each of these targets is read even if the ledger lacks
    the target.
    """
    of_day = [str(day)]
    return [
        (_STATE, []),
        ("select entry, counts from ledger where day = cast(?1 as integer)", of_day),
        (_TALLIES, of_day),
        ("select lines from event_page", []),
        (_PARTS, [f'"{day_text(day)}"']),
        (_QUEUED, [f'"{day_text(day)}"']),
        (_OF_LEDGER, of_day),
        (_OF_STORED, [str(day), json.dumps(sorted(target for target, has in stored.items() if has != Stored()))]),
        (_STATE, []),
    ]


def target_statements(day: int, target: str) -> list[Statement]:
    """Return the subset of `statements` for one site or link.

    The target's lines in `event_page` and the Worker's state after the read are not included, because a report reads
    them with other statements (svc/worker/counts.py).
    """
    text = f'"{day_text(day)}"'
    return [
        (_STATE, []),
        (_LEDGER_OF_TARGET, [str(day), target]),
        (f"{_TALLIES} and instr(tally, ?2) > 0", [str(day), target]),
        (_PARTS, [text]),
        (_QUEUED_OF_TARGET, [text, target]),
        (_OF_STORED, [str(day), json.dumps([target])]),
    ]


def read_target_day(
    results: Sequence[Sequence[Row]], pages: Sequence[Row], states_after: Sequence[Row], day: int, target: str
) -> WorkerDay | None:
    """Return the results of `target_statements` as a WorkerDay.

    Returns None and raises errors in the same cases as `read_day`.

    `pages`: the rows of `event_page` that contain the target. `states_after`: the Worker's state, read last.
    """
    states, ledger, tallies, outbox, queued, folded = results
    events = _text_of([event for row in pages for event in read_events_of(row["lines"], target)])
    # Select the target's tallies. The rows also contain tallies of other targets, whose events are not in `pages`.
    own = _text_of([tally for row in tallies for tally in read_tallies(row["tally"]) if tally[0] == target])
    return read_day([states, ledger, [{"tally": own}], [{"lines": events}], outbox, queued, folded, states_after], day)


def _text_of(lines: Sequence[Sequence[object]]) -> str:
    """Return lines in the format in which the Worker writes them (svc/worker/event_lines.py)."""
    return "".join(json.dumps(line) + "\n" for line in lines)


def read_day(results: Sequence[Sequence[Row]], day: int) -> WorkerDay | None:
    """Return the results of `statements` as a WorkerDay, or None if the database began to count after that day.

    Raises ValueError, KeyError or TypeError if a row is malformed. Also raises ValueError if a cron run changed the
    state during the read, which can happen because batches are not necessarily atomic.
    """
    states, ledger, tallies, pages, outbox, queued, *folded, states_after = results
    if [row["value"] for row in states] != [row["value"] for row in states_after]:
        raise ValueError("the worker's state changed while it was read")
    state = max((_State.model_validate_json(str(row["value"])) for row in states), key=lambda state: state.day)
    if state.since is None or day < day_of(state.since):
        return None
    worker_day = WorkerDay(
        closed=day <= state.day,
        since=state.since,
        has_totals=day >= state.kept_from,
        queued_parts=sum(int(str(row["parts"])) for row in outbox),
    )
    for row in ledger:
        for target, (views, bots) in _Pairs.validate_json(str(row["counts"])).items():
            worker_day.add(str(row["entry"]), target, Events(views, bots))
    for target, of_day, views, bots, *reason in (tally for row in tallies for tally in read_tallies(row["tally"])):
        if of_day == day:
            events = Events(views, bots)
            worker_day.add(reason[0] if reason else "accepted", target, events)
            if not reason:
                worker_day.wait(target, events)
            elif reason[0] != "invalid":
                worker_day.wait(target, NONE - events)
    for target, epoch_hour, bot, *_ in (event for row in pages for event in read_events(row["lines"])):
        if epoch_hour // 24 == day and bot not in OUTSIDE_REASONS:
            worker_day.wait(target, Events(0, 1) if bot else Events(1, 0))
    for rows, of_targets in ((queued, worker_day.queued), *((rows, worker_day.folded) for rows in folded)):
        for row in rows:
            of_targets[str(row["target"])] = Events(integer(row["views"]), integer(row["bots"]))
    if any(min(events.views, events.bots) < 0 for events in worker_day.every_count):
        raise ValueError("a count is negative")
    return worker_day


def compare(worker: WorkerDay | None, before: Mapping[str, Stored], after: Mapping[str, Stored]) -> list[TargetDay]:
    """Compare the numbers of each target that has events on the day. Return the results, ordered by target id.

    `before`, `after`: the stored totals of the account's targets before and after the Worker's numbers were read. A
    push can arrive in between, so the acknowledged total must match one of these stored totals.
    """
    something = {target for target, has in after.items() if has != Stored()}
    if worker is None:
        return [TargetDay(target, after[target].total) for target in sorted(something)]
    something.update(worker.accepted, worker.folded, worker.pushed, worker.waiting)
    return [
        compare_target(worker, target, before.get(target), after.get(target)) for target in sorted(something - {""})
    ]


def compare_target(worker: WorkerDay, target: str, before: Stored | None, after: Stored | None) -> TargetDay:
    """Compare the numbers of one target, and return the result.

    `before`, `after`: as in `compare`. None if the account does not have the target.
    """
    stored = after or Stored()
    fault, off_by = _first_fault(worker, target, before or Stored(), after)
    return TargetDay(
        target=target,
        stored=stored.total,
        accepted=worker.accepted.get(target, NONE),
        waiting=worker.waiting.get(target, NONE),
        counted=worker.folded.get(target, NONE) if worker.has_totals else None,
        queued=worker.queued.get(target, NONE),
        pushed=worker.pushed.get(target, NONE),
        dropped=worker.counted_drops([target]),
        agrees=fault is None,
        fault=fault,
        off_by=off_by,
    )


def _first_fault(
    worker: WorkerDay, target: str, before: Stored, after: Stored | None
) -> tuple[Fault, Events] | tuple[None, None]:
    """Return the first step at which the numbers differ, and the difference. Return (None, None) if the numbers agree.

    The steps lead from the Worker's ledger to the service's store.
    """
    pushed = worker.pushed.get(target, NONE)
    dropped = sum(worker.dropped.get(target, {}).values(), start=NONE)
    to_count = worker.accepted.get(target, NONE) - worker.waiting.get(target, NONE) - dropped
    # If the day's totals have been deleted, compare the sent events with the accepted events.
    folded = worker.folded.get(target, NONE) if worker.has_totals else to_count
    if folded != to_count:
        return "counting", folded - to_count
    if after is None or (worker.unknown.get(target, NONE) != NONE and pushed == NONE):
        return "unknown_target", NONE - folded
    # Include the parts in the outbox, because they will be sent. The service may already have one of these parts if the
    # acknowledgment was lost.
    sent = pushed.most(worker.queued.get(target, NONE))
    if sent != folded if worker.closed else not sent.within(NONE, folded):
        refused = worker.refused.get(target, NONE)
        return ("push" if refused.within(NONE, sent) else "refused"), sent - folded
    if pushed not in (before.total, after.total) and not after.total.within(pushed, sent):
        return "store", after.total - pushed
    if not after.hours.within(NONE, after.total):
        return "set_back", after.total - after.hours
    return None, None
