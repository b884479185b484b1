"""POST /edge/push: the totals of an account's worker, taken in one transaction (docs/push.md has the format).

The head of a push is checked as a whole; its parts one by one, so that a part that is wrong is refused by its number
and leaves the worker's queue, instead of holding up all that come after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError
from quart import request

from svc.clock import HOUR_MS, day_number
from svc.errors import Invalid, Unauthorized
from svc.http.bodies import Text, issues_of, parse_body
from svc.http.credentials import bearer
from svc.http.gate import raw_body, reply, route
from svc.ids import digest
from svc.model import DROP_REASONS, WorkerPush
from svc.store import accounts, totals, worker_keys
from svc.store.totals import Ingested, PushedHour, PushedPart

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.http.deps import Deps
    from svc.store.tx import Tx

# What both engines keep, and JavaScript counts exactly.
_LARGEST = 2**53 - 1

_Count = Annotated[int, Field(ge=0, le=_LARGEST, strict=True)]
_HourStart = Annotated[_Count, Field(multiple_of=HOUR_MS)]
# Not `Id`: there are two hundred of them in a push, so that they are read without a call into Python each.
_Target = Annotated[str, Field(max_length=100, pattern=r"\A[^\x00]*\z", strict=True)]
_Row = tuple[_Target, _Count, _Count, _Count]


class _Said(BaseModel):
    """A field of a newer worker is no reason to refuse its counts. (Lax about lists only: parts come as such.)"""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _Hour(_Said):
    at: _HourStart
    rows: tuple[_Row, ...]


class _Part(_Said):
    id: _Count
    day: Annotated[int, BeforeValidator(lambda text: _day(text))]
    as_of: _Count
    final: StrictBool
    hours: Annotated[tuple[_Hour, ...], Field(max_length=24)]
    refused_hours: Annotated[tuple[_HourStart, ...], Field(max_length=24)]
    days: tuple[_Row, ...]


class _PartId(_Said):
    id: _Count


class _Head(_Said):
    v: Annotated[int, Field(ge=1, le=1, strict=True)]
    install: _Target
    bundle: _Target
    schema_: Annotated[_Count | None, Field(alias="schema")]
    sent_at: _Count
    queue: _Count
    error: Annotated[Text, Field(max_length=1000, strict=True)] | None
    dropped: dict[str, _Count]
    parts: Annotated[tuple[Any, ...], Field(max_length=100)]


class _Push(_Head):
    """A push in which everything is right."""

    parts: Annotated[tuple[_Part, ...], Field(max_length=100)]


class Push:
    """The handler of /edge/push."""

    def __init__(self, deps: Deps) -> None:
        self._store = deps.store
        self._clock = deps.clock

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handler under its path."""
        route(app, "POST", "/edge/push", self.take)

    async def take(self) -> Response:
        """Take a push; sent twice, it changes nothing."""
        key = digest(bearer(request.headers.get("Authorization")))
        now = self._clock()
        account_id = await self._store.peek(worker_keys.account_of_worker_key(key, now))
        if account_id is None:
            raise Unauthorized
        head, parts, wrong = read_push(await raw_body())
        ingested = await self._store.run(_record(account_id, parts, len(wrong), _said(head, now), now))
        refused = [*ingested.refused, *((part_id, "invalid") for part_id in wrong)]
        return reply(
            {
                "ok": True,
                "accepted": list(ingested.accepted),
                "refused": [{"id": part_id, "code": code} for part_id, code in refused],
                "unknown_targets": list(ingested.unknown_targets),
            }
        )


def read_push(raw: bytes) -> tuple[_Head, list[PushedPart], list[int]]:
    """The head, the parts that are well-formed, and the ids of those that are not. Raises Invalid.

    A push is nearly always right, and then read in one go; each part by itself only where one of them is wrong.
    """
    try:
        push = _Push.model_validate_json(raw)
    except ValidationError:
        head = parse_body(_Head, raw)
        return head, *read_parts(head.parts)
    return push, [_pushed(part) for part in push.parts], []


def read_parts(raw: tuple[Any, ...]) -> tuple[list[PushedPart], list[int]]:
    """The parts that are well-formed, and the ids of those that are not. Raises Invalid: one has not even an id."""
    parts: list[PushedPart] = []
    wrong: list[int] = []
    for value in raw:
        try:
            parts.append(_pushed(_Part.model_validate(value)))
        except ValidationError:
            wrong.append(_id_of(value))
    return parts, wrong


def _id_of(value: Any) -> int:
    try:
        return _PartId.model_validate(value).id
    except ValidationError as error:
        raise Invalid([(f"parts.{path}", text) for path, text in issues_of(error)]) from None


def _record(account_id: str, parts: list[PushedPart], wrong: int, said: WorkerPush, now: int) -> Tx[Ingested]:
    ingested = yield from totals.ingest(account_id, parts, now)
    # The worker counts what it sends as waiting; what is settled here waits no more.
    settled = len(ingested.accepted) + len(ingested.refused) + wrong
    yield from accounts.record_push(account_id, replace(said, queue=max(0, said.queue - settled)))
    return ingested


def _pushed(part: _Part) -> PushedPart:
    return PushedPart(
        id=part.id,
        day=part.day,
        as_of=part.as_of,
        final=part.final,
        hours=tuple(PushedHour(hour.at, hour.rows) for hour in part.hours),
        refused_hours=part.refused_hours,
        days=part.days,
    )


def _said(head: _Head, now: int) -> WorkerPush:
    dropped = {reason: head.dropped.get(reason, 0) for reason in DROP_REASONS}
    return WorkerPush(now, head.bundle, head.schema_, head.queue, head.error, dropped, head.install)


def _day(text: object) -> int:
    """A day number of YYYY-MM-DD and nothing else that Python would take for a date."""
    if not isinstance(text, str) or len(text) != 10 or text[4] != "-" or text[7] != "-":
        raise ValueError("must be a day, YYYY-MM-DD")
    return day_number(text)
