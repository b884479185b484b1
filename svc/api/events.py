"""/v1/events: the audit log of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import DIGITS, Count, Id, Moment
from svc.api.shape import Query, ResponseBody, optional_field
from svc.errors import Invalid, Issue
from svc.ids import ID_CHARS, in_base32, is_id, number_of_base32
from svc.model import Action, EventOrder

if TYPE_CHECKING:
    from svc import model

_PREFIX = "evt"
# An event's id encodes the user id and the event's number, so the event's id itself is not stored. The id is also
# the list's cursor.
_NUMBERS: int = 1 << (5 * ID_CHARS // 2)


class EventQuery(Query):
    """Order and page of the list of events."""

    after: Id | None = optional_field(
        "The id of the last event that you received, or `next_cursor`. The response contains the events that follow it"
        " in the requested order."
    )
    order: EventOrder = Field("newest", description="Sort order. Use `oldest` to poll for new events.")
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(100, description="Maximum number of events.")


class Event(ResponseBody):
    """A recorded change."""

    id: str
    at: Moment
    via: str = Field(
        description="The actor: `session` (a signed-in user), the id of an API key, `mail` (a link in an email),"
        " `nobody` (a request without a credential), `service` (the service itself), or `operator` (a command that the"
        " operator ran on the service's machine)."
    )
    ip: str | None = Field(description="The client's IP address. Null if it is unknown or no client was involved.")
    action: Action = Field(description="The kind of change. docs/use/history.md explains each value.")
    target: str | None = Field(description="The id of the changed object. Null if the change concerns the user.")
    outcome: str = Field(
        description="`done`, `accepted`, an account's new state (for `account.state`), or an error code. `accepted`"
        " means that the service has stored the change, but has not done the work at Cloudflare yet. When an install"
        " ends, the service records a separate event."
    )
    edge_account_id: str | None = Field(
        description="The Cloudflare account that was changed. Null if the event concerns only the user."
    )
    count: Count = Field(
        description="The number of changes that the event records: links for requests to `/v1/links/bulk` and for"
        " imports of links, repairs for `account.check`, and days for `totals.import`; otherwise 1."
    )

    @classmethod
    def from_model(cls, event: model.Event) -> Self:
        """Return the response for an event."""
        return cls(
            id=id_of(event.user_id, event.number),
            at=event.at,
            via=event.via,
            ip=event.ip,
            action=event.action,
            target=event.target,
            outcome=event.outcome,
            edge_account_id=event.edge_account_id,
            count=event.count,
        )


class NamedEvent(Event):
    """A recorded change with the names of objects. Exports omit the names, because names can contain any text."""

    target_name: str | None = optional_field(
        "The current name of the object `target`: the host of a site, the code of a link, or the name of an account, an"
        " API key or a share. Absent if the object no longer exists, or if your API key does not have all scopes or is"
        " limited to specific accounts."
    )
    via_name: str | None = optional_field(
        "The current name of the API key in `via`. Absent if `via` is not the id of an existing API key, or if your API"
        " key does not have all scopes or is limited to specific accounts."
    )

    @classmethod
    def from_model(cls, event: model.Event) -> Self:
        """Return the response for an event."""
        names = {"target_name": event.target_name, "via_name": event.via_name}
        return super().from_model(event).model_copy(update=names)


class EventList(ResponseBody):
    """Events in the requested order. A page can have fewer than `limit` events even if there are more pages."""

    events: tuple[NamedEvent, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = optional_field(
        "The value of `after` for the next page. Present if there are more events."
    )


def id_of(user_id: int, number: int) -> str:
    """Return the id of the user's event with this number."""
    return f"{_PREFIX}_{in_base32(user_id * _NUMBERS + number, ID_CHARS)}"


def number_in(event_id: str, user_id: int) -> int:
    """Return the number that an event's id encodes.

    Raises Invalid if the id does not belong to an event of this user.
    """
    if is_id(_PREFIX, event_id):
        whose, number = divmod(number_of_base32(event_id.removeprefix(f"{_PREFIX}_")), _NUMBERS)
        if whose == user_id:
            return number
    raise Invalid([Issue("after", "must be the id of one of your events or the next_cursor of a page")])


LIST = Endpoint(
    method="GET",
    path="/v1/events",
    tag="events",
    addition=True,
    summary="List the events of the last year",
    description="The service stores each event in the same transaction as the change that it records. Request pages"
    " until a response has no `next_cursor`. To follow all changes without missing any, use `order=oldest` and set"
    " `after` to the id of the last event that you received. An API key that is limited to specific accounts sees only"
    " the events of these accounts. To read events that concern only the user (sign-ins, keys), you need a sign-in"
    " session, or a key that has all scopes and is not limited to specific accounts.",
    scopes=("accounts",),
    query=EventQuery,
    response=EventList,
)

ENDPOINTS = (LIST,)
