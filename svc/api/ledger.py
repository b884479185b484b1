"""GET /v1/accounts/{account_id}/ledger: reconcile a day's events between the worker and the service's totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Day, Moment, QueryDay
from svc.api.shape import Answer, Query, optional_field
from svc.model import UnavailableReason
from svc.worker.ledger import DropReason, Fault

if TYPE_CHECKING:
    from svc.worker.ledger import Events, TargetDay


class LedgerQuery(Query):
    """The day of the statement."""

    day: QueryDay | None = optional_field("A day in UTC, not after today. Default: today.")


class EventCounts(Answer):
    """Views by people, and hits by bots."""

    views: Count
    bots: Count

    @classmethod
    def from_model(cls, events: Events | None) -> EventCounts | None:
        """Return the response for event counts, or None."""
        return None if events is None else cls(views=events.views, bots=events.bots)


class Difference(Answer):
    """The later number minus the earlier number; negative if events are missing."""

    views: int
    bots: int


class LedgerTarget(Answer):
    """The events of a site or link at each step. Null: unknown, because the worker's database was not read."""

    id: str
    accepted: EventCounts | None = Field(
        description="Events that the worker accepted for counting, recorded separately from its totals."
    )
    dropped: dict[DropReason, Count] | None = Field(description="Accepted events that were not counted, by reason.")
    waiting: EventCounts | None = Field(description="Accepted events that are yet to be counted.")
    counted: EventCounts | None = Field(
        description="The worker's total of the day; also null if the worker has deleted it because of its age."
    )
    queued: EventCounts | None = Field(description="The total in the largest part that is waiting to be sent.")
    pushed: EventCounts | None = Field(description="The total that the service has acknowledged to the worker.")
    stored: EventCounts = Field(description="The total in the service's store, without imported days.")
    agrees: bool | None
    fault: Fault | None = Field(description="The first step at which two numbers differ that should be equal.")
    off_by: Difference | None = Field(description="The difference at that step.")

    @classmethod
    def from_model(cls, found: TargetDay) -> LedgerTarget:
        """Return the response for one target."""
        return cls(
            id=found.target,
            accepted=EventCounts.from_model(found.accepted),
            dropped=None if found.agrees is None else dict(found.dropped),
            waiting=EventCounts.from_model(found.waiting),
            counted=EventCounts.from_model(found.counted),
            queued=EventCounts.from_model(found.queued),
            pushed=EventCounts.from_model(found.pushed),
            stored=EventCounts(views=found.stored.views, bots=found.stored.bots),
            agrees=found.agrees,
            fault=found.fault,
            off_by=None if found.off_by is None else Difference(views=found.off_by.views, bots=found.off_by.bots),
        )


class PlatformRequests(Answer):
    """An estimate with its 95% confidence interval."""

    estimate: Count
    at_least: Count
    at_most: Count


class Ledger(Answer):
    """The statement of counts of an account and day."""

    day: Day
    since: Moment | None = Field(
        description="The time at which the worker's database began to count. Earlier events are not in it."
    )
    closed: bool | None = Field(description="The worker has closed the day and adds no more events to it.")
    queued_parts: Count | None = Field(description="Parts of this day that the worker has yet to send.")
    targets: tuple[LedgerTarget, ...] = Field(description="Sites and links with events on that day, by id.")
    dropped: dict[DropReason, Count] | None = Field(
        description="Events that were not counted that day, by reason. `invalid` events belong to no target."
    )
    agrees: bool | None = Field(description="All targets agree.")
    platform_requests: PlatformRequests | None = Field(
        description="Cloudflare's own count of the worker's requests, including its 1,440 cron runs a day, a few"
        " minutes behind; null if Cloudflare does not report it."
    )
    unavailable: UnavailableReason | Literal["not_kept", "not_counted"] | None = Field(
        description="The reason why the worker's numbers are unknown."
    )


class OneLedger(Answer):
    """A statement of counts."""

    ledger: Ledger


SHOW = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/ledger",
    tag="accounts",
    summary="Show the statement of counts of a day",
    description="An addition to the specification. Compares the number of events at each step from the worker to the"
    " service's totals. The worker's database is read live; the request counts as one of the 30 reads a minute.",
    scopes=("reports",),
    query=LedgerQuery,
    answer=OneLedger,
)

ENDPOINTS = (SHOW,)
