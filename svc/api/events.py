"""/v1/events: what was changed for a user, by whom, from where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import DIGITS, Count, Id, Moment
from svc.api.shape import Answer, Query, may_be_absent
from svc.errors import Invalid, Issue
from svc.ids import ID_CHARS, in_base32, is_id, number_of_base32
from svc.model import Action, EventOrder

if TYPE_CHECKING:
    from svc import model

_PREFIX = "evt"
# An event's id holds whose it is and its number: it need not be stored, and is its own cursor.
_NUMBERS: int = 1 << (5 * ID_CHARS // 2)


class EventQuery(Query):
    """Which events, in which order."""

    after: Id | None = may_be_absent(
        "The id of the last event that was seen, or `next_cursor`: those that follow it in this order."
    )
    order: EventOrder = Field("newest", description="`oldest` first: to go on with what is new.")
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(100, description="How many at the most.")


class Event(Answer):
    """Something that was changed."""

    id: str
    at: Moment
    via: str = Field(
        description="Who: `session` (somebody who was signed in), the id of an API key, `mail` (who opened the link of"
        " an e-mail), `nobody` (without a credential), `service`, or `operator` (a command of who runs the service)."
    )
    ip: str | None = Field(description="The client's address; null where there was none or it is not known.")
    action: Action = Field(description="What; docs/api.md explains each.")
    target: str | None = Field(description="The id of the object; null: the user.")
    outcome: str = Field(
        description="`done`; `accepted`: recorded, and the rest follows at the edge platform (how an install ends is an"
        " event of its own, by `service`); of `account.state` the state; else the code of an error."
    )
    edge_account_id: str | None = Field(description="The edge account that it is about; null: the user alone.")
    count: Count = Field(description="How many changes of this kind: the links of `POST /v1/links/bulk`. Else 1.")

    @classmethod
    def of(cls, event: model.Event) -> Event:
        """An event."""
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


class EventList(Answer):
    """Events in the order that was asked for. There may be fewer than `limit`, though more follow."""

    events: tuple[Event, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = may_be_absent("There are more: `after` of the next page.")


def id_of(user_id: int, number: int) -> str:
    """The id of a user's event of this number."""
    return f"{_PREFIX}_{in_base32(user_id * _NUMBERS + number, ID_CHARS)}"


def number_in(event_id: str, user_id: int) -> int:
    """The number in the id of an event of this user. Raises Invalid."""
    if is_id(_PREFIX, event_id):
        whose, number = divmod(number_of_base32(event_id.removeprefix(f"{_PREFIX}_")), _NUMBERS)
        if whose == user_id:
            return number
    raise Invalid([Issue("after", "must be the id of one of your events, or the next_cursor of a page")])


LIST = Endpoint(
    method="GET",
    path="/v1/events",
    tag="events",
    summary="List what was changed, by whom, from where",
    description="An addition. Every change of the last year, written with the change itself. Pages stay whole while"
    " events come in: with `order=oldest` a program that goes on after the last id it has seen misses none. An API key"
    " that is limited to some accounts sees what is about these; what is about the user alone (sign-ins, keys) is for a"
    " page session, or a key with all scopes that is not limited. Go on while there is a `next_cursor`.",
    scopes=("accounts",),
    query=EventQuery,
    answer=EventList,
)

ENDPOINTS = (LIST,)
