"""What an answer of the edge platform means: its envelope, and what kind of failure it is. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, StringConstraints, ValidationError

from svc.clock import epoch_ms
from svc.errors import Code, EdgeError, EdgeRefused, EdgeUnavailable, EdgeUnknown

# May the call be repeated? never: it would be refused again · always: nothing was done · repeatable: it may have been
# done, so only a call that does no harm twice · credential: nothing was done; a few times before it is believed, and
# for longer while the token is new.
Repeat = Literal["never", "always", "repeatable", "credential"]

MESSAGE_CHARS = 500  # of the platform's text, kept in an error

# platform docs: Workers error codes; the codes 7502 and 7404 are those that wrangler maps for D1.
_REFUSALS: dict[int, Code] = {7502: "name_taken", 10040: "name_taken", 10020: "route_conflict", 10072: "cron_limit"}
# HTTP 403: a dead token and a missing right alike. 7403 is D1's own word for it; both also come for no reason at all.
_AUTHENTICATION = frozenset({10000, 7403})
_DEAD_TOKEN = frozenset({1000, 9109})
_CONCURRENT_CHANGE = 10035  # platform docs: wait and retry
# Texts of failures that pass, whatever status they come with (platform docs: D1 "debug", Workers 10021).
_PASSING = (
    "failed to generate",
    "D1 DB is overloaded",
    "Network connection lost",
    "reset because its code was updated",
    "caused object to be reset",
    "storage operation exceeded timeout",
)
# No numeric code of it is documented; the text is (D1 limits, enforced on REST since 2026-09-01).
_DAILY_LIMIT = "exceeded D1's free tier daily row "

_HTTP_UNAUTHORIZED, _HTTP_FORBIDDEN, _HTTP_TIMEOUT, _HTTP_THROTTLED, _HTTP_FAILED = 401, 403, 408, 429, 500


class DailyLimit(EdgeUnavailable):
    """The account's free D1 rows of this UTC day are used up: nothing was done, and nothing will be before midnight.

    `rows` says which: "read" or "write".
    """

    def __init__(self, rows: Literal["read", "write"], *, remote_status: int, remote_code: int) -> None:
        super().__init__(
            f"The account has used up its free D1 row {rows}s of today.",
            remote_status=remote_status,
            remote_code=remote_code,
        )
        self.rows: Literal["read", "write"] = rows


class Shape(BaseModel):
    """Something in an answer. What we do not use is ignored; a value that does not fit never shows in an error."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


# An id that the platform gave us and that becomes part of a path.
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _utc_ms(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("not a time as text")  # noqa: TRY004  # pydantic turns a ValueError into an issue
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return epoch_ms(moment)


# A time of the platform, as epoch ms.
Moment = Annotated[int, BeforeValidator(_utc_ms)]


class _Error(Shape):
    code: int = 0
    message: str = ""


class PageInfo(Shape):
    """Where in a list an answer stands. The platform leaves fields out at will."""

    page: int | None = None
    per_page: int | None = None
    total_count: int | None = None
    total_pages: int | None = None


class Envelope(Shape):
    """The v4 envelope around every answer but GraphQL's."""

    success: bool
    errors: list[_Error] | None = None
    result: JsonValue = None
    result_info: PageInfo | None = None


class _Graph(Shape):
    data: JsonValue = None
    errors: list[_Error] | None = None


@dataclass(frozen=True)
class Failed:
    """A call that did not work, and whether it may be repeated."""

    error: EdgeError
    repeat: Repeat
    wait_s: float | None = None  # as the platform asked


def read(
    status: int, body: bytes, retry_after: str | None, *, repeatable: bool, secret: str = "", graph: bool = False
) -> Envelope | Failed:
    """The envelope of a good answer, or what is wrong with it.

    `repeatable`: the call may be sent twice; of any other, a failure without a clear word is EdgeUnknown.
    `secret`: cut out of what the platform says, should it quote it. `graph`: a GraphQL answer.
    """
    try:
        envelope = _unwrapped(body) if graph and status < 300 else Envelope.model_validate_json(body)
    except ValidationError:  # an HTML page of a proxy on the way, an empty body, half a body
        envelope = None
    wait_s = seconds(retry_after)
    said = _said(envelope, secret)
    if status == _HTTP_THROTTLED:  # platform docs: the status says it, no numeric code does
        waits = None if wait_s is None else round(wait_s)
        return Failed(
            EdgeUnavailable(
                "The edge platform throttles this token.",
                remote_status=status,
                remote_code=said.code,
                retry_after_s=waits,
            ),
            "always",
            wait_s,
        )
    if status >= _HTTP_FAILED or status == _HTTP_TIMEOUT:
        return _unclear("The edge platform failed", status, said, wait_s, repeatable=repeatable)
    if envelope is None:
        if status < 300:  # a good status: something may have been done
            return _unclear("The edge platform's answer cannot be read", status, _Error(), None, repeatable=repeatable)
        return Failed(
            EdgeUnavailable("Something before the edge platform answered instead of it.", remote_status=status),
            "always",
        )
    if status < 300 and envelope.success:
        return envelope
    return _refusal(status, said, repeatable=repeatable)


def no_answer(what: str, *, sent: bool, repeatable: bool) -> Failed:
    """No answer came. `sent`: the request may have reached the platform."""
    if sent:
        return _unclear(what, 0, _Error(), None, repeatable=repeatable)
    return Failed(EdgeUnavailable(f"{what}."), "always")


def too_large(status: int, *, repeatable: bool) -> Failed:
    """An answer over our limit: it would be as large again. Of a change it says nothing."""
    text = "The edge platform's answer is too large."
    if repeatable:
        return Failed(EdgeRefused("cloudflare_error", text, remote_status=status), "never")
    return Failed(EdgeUnknown(text, remote_status=status), "never")


def unreadable(problem: ValidationError, status: int, *, repeatable: bool) -> Failed:
    """The envelope is good, what is in it is not of the shape that we know. Names the place, never the value."""
    places = sorted({".".join(str(part) for part in issue["loc"]) for issue in problem.errors(include_input=False)})
    what = f"The edge platform's answer has another shape than known, at {', '.join(places[:5])}"
    return _unclear(what, status, _Error(), None, repeatable=repeatable)


def seconds(retry_after: str | None) -> float | None:
    """A Retry-After in seconds; None when absent or a date (the platform sends seconds)."""
    try:
        value = float(retry_after or "")
    except ValueError:
        return None
    return value if 0 <= value < 86_400 else None  # a day; also keeps nan and inf out


def _unwrapped(body: bytes) -> Envelope:
    """GraphQL has no envelope, and its errors come with HTTP 200 (platform docs: graphql-api)."""
    answer = _Graph.model_validate_json(body)
    return Envelope(success=not answer.errors and answer.data is not None, errors=answer.errors, result=answer.data)


def _said(envelope: Envelope | None, secret: str) -> _Error:
    if not envelope or not envelope.errors:
        return _Error()
    first = envelope.errors[0]
    text = first.message.replace(secret, "…") if secret else first.message
    return _Error(code=first.code, message=text[:MESSAGE_CHARS])


def _unclear(what: str, status: int, said: _Error, wait_s: float | None, *, repeatable: bool) -> Failed:
    kind = EdgeUnavailable if repeatable else EdgeUnknown
    text = f"{what}: {said.message}" if said.message else f"{what}."
    waits = None if wait_s is None else round(wait_s)
    error = kind(text, remote_status=status, remote_code=said.code, retry_after_s=waits)
    return Failed(error, "repeatable", wait_s)


def _refusal(status: int, said: _Error, *, repeatable: bool) -> Failed:
    text = said.message or f"The edge platform refused with status {status}."
    if _DAILY_LIMIT in said.message:
        rows: Literal["read", "write"] = "write" if f"{_DAILY_LIMIT}write" in said.message else "read"
        return Failed(DailyLimit(rows, remote_status=status, remote_code=said.code), "never")
    if said.code == _CONCURRENT_CHANGE:
        return Failed(EdgeUnavailable(text, remote_status=status, remote_code=said.code), "always")
    if any(passing in said.message for passing in _PASSING):
        return _unclear("The edge platform failed", status, said, None, repeatable=repeatable)
    code: Code = _REFUSALS.get(said.code, "cloudflare_error")
    repeat: Repeat = "never"
    if status == _HTTP_UNAUTHORIZED or said.code in _DEAD_TOKEN:
        code, repeat = "revoked", "credential"
    elif status == _HTTP_FORBIDDEN and said.code in _AUTHENTICATION:
        code, repeat = "permission_error", "credential"
    return Failed(EdgeRefused(code, text, remote_status=status, remote_code=said.code), repeat)


def compact(value: object) -> bytes:
    """JSON for a request body."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
