"""GET /v1/accounts/{account_id}/ledger: what became of a day's events, from the worker to the service's totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Day, Moment, QueryDay
from svc.api.shape import Answer, Query, may_be_absent
from svc.model import UnavailableReason
from svc.worker.ledger import DropReason, Fault

if TYPE_CHECKING:
    from svc.worker.ledger import Events, TargetDay


class LedgerQuery(Query):
    """Which day."""

    day: QueryDay | None = may_be_absent("A UTC day, not after today; default: today.")


class EventCounts(Answer):
    """Views of people, and hits of bots."""

    views: Count
    bots: Count

    @classmethod
    def of(cls, events: Events | None) -> EventCounts | None:
        """The same events."""
        return None if events is None else cls(views=events.views, bots=events.bots)


class Difference(Answer):
    """By how much the later of two numbers exceeds the earlier; negative where some are missing."""

    views: int
    bots: int


class LedgerTarget(Answer):
    """What became of the events of a site or link. Null is what is not known, as the worker's side was not read."""

    id: str
    accepted: EventCounts | None = Field(
        description="What the worker took on to count, written down apart from its totals."
    )
    dropped: dict[DropReason, Count] | None = Field(description="How many of these it did not count, by reason.")
    waiting: EventCounts | None = Field(description="What it has not counted yet.")
    counted: EventCounts | None = Field(
        description="What its own total of the day holds; null also where the worker has deleted that by its age."
    )
    queued: EventCounts | None = Field(description="What the largest of its parts holds that waits to be sent.")
    pushed: EventCounts | None = Field(description="What the service has acknowledged to it.")
    stored: EventCounts = Field(description="What the service has, without imported days.")
    agrees: bool | None
    fault: Fault | None = Field(description="Where two numbers first differ that should be the same.")
    off_by: Difference | None = Field(description="By how much they differ.")

    @classmethod
    def of(cls, found: TargetDay) -> LedgerTarget:
        """One target of the comparison."""
        return cls(
            id=found.target,
            accepted=EventCounts.of(found.accepted),
            dropped=None if found.agrees is None else dict(found.dropped),
            waiting=EventCounts.of(found.waiting),
            counted=EventCounts.of(found.counted),
            queued=EventCounts.of(found.queued),
            pushed=EventCounts.of(found.pushed),
            stored=EventCounts(views=found.stored.views, bots=found.stored.bots),
            agrees=found.agrees,
            fault=found.fault,
            off_by=None if found.off_by is None else Difference(views=found.off_by.views, bots=found.off_by.bots),
        )


class PlatformRequests(Answer):
    """An estimate, and the bounds within which it is with a probability of 95%."""

    estimate: Count
    at_least: Count
    at_most: Count


class Ledger(Answer):
    """What became of all events of an account's day."""

    day: Day
    since: Moment | None = Field(
        description="When the worker's database began to count: what came before is not in it, also of this day."
    )
    closed: bool | None = Field(description="The worker has closed the day: nothing is added to it any more.")
    queued_parts: Count | None = Field(description="Parts of this day that wait in the worker to be sent.")
    targets: tuple[LedgerTarget, ...] = Field(description="Sites and links with anything on that day, by id.")
    dropped: dict[DropReason, Count] | None = Field(
        description="What was not counted that day, by reason; `invalid` was no event of any target."
    )
    agrees: bool | None = Field(description="All targets agree.")
    platform_requests: PlatformRequests | None = Field(
        description="The edge platform's own count of the worker's requests, its 1,440 crons among them, some minutes "
        "late; null where it does not tell."
    )
    unavailable: UnavailableReason | Literal["not_kept", "not_counted"] | None = Field(
        description="Why the worker's side is not known."
    )


class OneLedger(Answer):
    """A statement of counts."""

    ledger: Ledger


SHOW = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/ledger",
    tag="accounts",
    summary="What became of a day's events: a statement of counts",
    description="An addition to the specification. The worker's side is read live, one of the 30 reads a minute.",
    scopes=("reports",),
    query=LedgerQuery,
    answer=OneLedger,
)

ENDPOINTS = (SHOW,)
