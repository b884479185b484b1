"""GET /v1/accounts/{account_id}/ledger: compare a day's events in the Worker's database with the service's totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Day, Moment, QueryDay
from svc.api.shape import Query, ResponseBody, optional_field
from svc.model import UnavailableReason
from svc.worker.ledger import DropReason, Fault

if TYPE_CHECKING:
    from typing import Self

    from svc.worker.ledger import Events, TargetDay


class LedgerQuery(Query):
    """The day that the statement covers."""

    day: QueryDay | None = optional_field("A UTC day, no later than today. Default: today.")


class EventCounts(ResponseBody):
    """Views by people, and visits by bots."""

    views: Count
    bots: Count

    @classmethod
    def from_model(cls, events: Events | None) -> EventCounts | None:
        """Return the response for event counts, or None if they are unknown."""
        return None if events is None else cls(views=events.views, bots=events.bots)


class Difference(ResponseBody):
    """The event count after a step minus the count before that step. Negative if events are missing."""

    views: int
    bots: int


class LedgerTarget(ResponseBody):
    """The event counts of a site or link after each step.

    If the Worker's database was not read, only `stored` is known.
    """

    id: str
    accepted: EventCounts | None = Field(
        description="Events that the Worker accepted for counting. The Worker records this number separately from its"
        " totals."
    )
    dropped: dict[DropReason, Count] | None = Field(
        description="Events that the Worker accepted but did not count, by reason."
    )
    waiting: EventCounts | None = Field(description="Accepted events that the Worker has not counted yet.")
    counted: EventCounts | None = Field(
        description="The Worker's total for the day. Null if the Worker's database was not read, or if the Worker has"
        " deleted the total because of its age."
    )
    queued: EventCounts | None = Field(
        description="The day's highest total in the parts that the Worker has not sent yet. A part is a message with"
        " new totals."
    )
    pushed: EventCounts | None = Field(description="The last total that the Worker sent and the service confirmed.")
    stored: EventCounts = Field(description="The total in the service's store, without imported counts.")
    agrees: bool | None = Field(description="True if the numbers at all steps agree. Null if this is unknown.")
    fault: Fault | None = Field(description="The first step at which the numbers differ. Null if all numbers agree.")
    off_by: Difference | None = Field(
        description="The difference at the step that `fault` names. Null if all numbers agree."
    )

    @classmethod
    def from_model(cls, target: TargetDay, **more: Any) -> Self:
        """Return the response for one target. `more`: values for the fields that a subclass adds."""
        return cls(
            **more,
            id=target.target,
            accepted=EventCounts.from_model(target.accepted),
            dropped=None if target.agrees is None else dict(target.dropped),
            waiting=EventCounts.from_model(target.waiting),
            counted=EventCounts.from_model(target.counted),
            queued=EventCounts.from_model(target.queued),
            pushed=EventCounts.from_model(target.pushed),
            stored=EventCounts(views=target.stored.views, bots=target.stored.bots),
            agrees=target.agrees,
            fault=target.fault,
            off_by=None if target.off_by is None else Difference(views=target.off_by.views, bots=target.off_by.bots),
        )


class DayStatement(LedgerTarget):
    """A site's or link's statement of counts for one day, as of the time at which the Worker's database was read."""

    day: Day
    closed: bool = Field(description="True if the Worker has closed the day and adds no more events to it.")


class PlatformRequests(ResponseBody):
    """Cloudflare's estimate of the number of requests, with its 95% confidence interval."""

    estimate: Count
    at_least: Count
    at_most: Count


class Ledger(ResponseBody):
    """An account's statement of counts for one day."""

    day: Day
    since: Moment | None = Field(
        description="The time at which the Worker's database began counting. The statement contains no earlier events."
    )
    closed: bool | None = Field(description="True if the Worker has closed the day and adds no more events to it.")
    queued_parts: Count | None = Field(
        description="The number of parts (messages with new totals) of this day that the Worker has not sent yet."
    )
    targets: tuple[LedgerTarget, ...] = Field(description="The sites and links with events on this day, ordered by id.")
    dropped: dict[DropReason, Count] | None = Field(
        description="Events of this day that were not counted, by reason. `invalid` events do not belong to a site or"
        " link."
    )
    agrees: bool | None = Field(description="True if `agrees` is true for all targets. Null if this is unknown.")
    platform_requests: PlatformRequests | None = Field(
        description="Cloudflare's own count of the requests to the Worker. It lags by a few minutes and includes the"
        " cron trigger's 1,440 runs per day. Null if Cloudflare does not report it."
    )
    unavailable: UnavailableReason | Literal["not_kept", "not_counted"] | None = Field(
        description="The reason why the Worker's numbers are unknown. Null if they are known."
    )


class OneLedger(ResponseBody):
    """A statement of counts."""

    ledger: Ledger


SHOW = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/ledger",
    tag="accounts",
    addition=True,
    summary="Show the statement of counts for one day",
    description="The statement compares the number of events at each step from the Worker to the service's totals. To"
    " get these numbers, the service reads the Worker's database. This counts as one of the user's 30 report reads per"
    " minute.",
    scopes=("reports",),
    query=LedgerQuery,
    response=OneLedger,
)

ENDPOINTS = (SHOW,)
