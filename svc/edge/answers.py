"""What an answer of the edge platform means: its envelope, or a failure, and when to try again after it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, StringConstraints, ValidationError

from svc.clock import epoch_ms
from svc.errors import CATALOGUE, Code, EdgeError, EdgeGone, EdgeRefused, EdgeUnavailable, EdgeUnknown

# May a call that failed be repeated? never: it would be refused again · always: nothing was done · repeatable: it may
# have been done, so only a call that does no harm twice · credential: nothing was done; a few times before the refusal
# is believed, and for longer while the token is new.
Repeat = Literal["never", "always", "repeatable", "credential"]

MESSAGE_CHARS = 500  # of the platform's text, kept in an error

LONGEST_WAIT_S = 4.0
LONGEST_SETTLING_WAIT_S = 15.0
# A refused credential is asked about again before it is believed, after 1, 4 and 10 s with the usual first wait: the
# platform refuses good tokens now and then (10000 and 7403 in its users' reports), and our users would be told that
# theirs is broken. In multiples of the first wait.
CREDENTIAL_WAITS = (4, 16, 40)
# The platform blocks a token for five minutes once it went over its limit; only a short block is waited out here.
LONGEST_THROTTLE_S = 5.0

# platform docs: Workers error codes; the codes 7502 and 7404 are those that wrangler maps for D1.
_REFUSALS: dict[int, Code] = {
    7502: "name_taken",
    10020: "route_conflict",
    10031: "name_taken",
    10040: "name_taken",
    10063: "subdomain_required",
    10072: "cron_limit",
}
_DEAD_TOKEN = frozenset({1000, 9109})
# HTTP 403 is a refused credential, for a dead token, a missing right and no reason at all alike; each product has its
# own code for it (10000, 7403, 10023 …), so it is the codes above that are something else, and this one: a token's
# policies cannot be granted.
_FORBIDDEN_FOR_ANOTHER_REASON = frozenset({1001})
_CONCURRENT_CHANGE = 10035  # platform docs: wait and retry
# Texts of transient failures, whatever status they come with (platform docs: D1 "debug", Workers 10021).
_TRANSIENT_TEXTS = (
    "failed to generate",
    "D1 DB is overloaded",
    "Network connection lost",
    "reset because its code was updated",
    "caused object to be reset",
    "storage operation exceeded timeout",
    "due to transient issue on remote node",
    "Can't read from request stream because client disconnected",
    "isolate exceeded its memory limit and was reset",
    "exceeded its CPU time limit and was reset",
)
# No numeric code of it is documented; the text is (D1 limits, enforced on REST since 2026-09-01).
_DAILY_LIMIT = "exceeded D1's free tier daily row "

_RAY_CHARS = 40

_HTTP_UNAUTHORIZED, _HTTP_FORBIDDEN, _HTTP_NOT_FOUND = 401, 403, 404
_HTTP_TIMEOUT, _HTTP_THROTTLED, _HTTP_FAILED = 408, 429, 500


class DailyLimit(EdgeUnavailable):
    """The account's free D1 rows of this UTC day are used up: nothing was done, and nothing will be before midnight.

    `rows` says which: "read" or "write".
    """

    def __init__(self, rows: Literal["read", "write"], *, remote_status: int, remote_code: int) -> None:
        super().__init__(
            f"The account has used up its free D1 row {rows}s of today, which ends at midnight UTC.",
            remote_status=remote_status,
            remote_code=remote_code,
        )
        self.rows: Literal["read", "write"] = rows


class Blocked(EdgeRefused):
    """The firewall before the platform's API took the body for an attack; the same body will be refused again.

    `ray_id` is by which the platform finds the refusal.
    """

    def __init__(self, ray_id: str, *, remote_status: int) -> None:
        super().__init__("edge_firewall", CATALOGUE["edge_firewall"].message, remote_status=remote_status)
        self.details = {**(self.details or {}), "ray_id": ray_id}
        self.ray_id = ray_id


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
class HttpAnswer:
    """An answer as it came: `retry_after` and `ray_id` (cf-ray) are those headers, if there were any."""

    status: int
    body: bytes
    retry_after: str | None = None
    ray_id: str | None = None


@dataclass(frozen=True)
class Failed:
    """A call that did not work, and whether it may be repeated. `wait_s`: how long the platform asked to wait."""

    error: EdgeError
    repeat: Repeat
    wait_s: float | None = None


@dataclass(frozen=True)
class Retry:
    """Decides whether a call that failed is tried again, and when; counts the tries of one call.

    `most`: tries again after failures. `first_wait_s`: before the first of them; each further one doubles it.
    `failures`, `refusals`: tries so far that failed, and those whose credential was refused.
    """

    most: int
    first_wait_s: float
    failures: int = 0
    refusals: int = 0

    def counted(self, failed: Failed) -> Retry:
        """The same after one more try, which failed."""
        if failed.repeat == "credential":
            return replace(self, refusals=self.refusals + 1)
        return replace(self, failures=self.failures + 1)

    def wait_s(self, failed: Failed, *, repeatable: bool, settling_s: float, jitter: float) -> float | None:
        """Seconds until the next try, or None: stop, and believe the failure.

        `repeatable`: sending the call twice does the same as once. `settling_s`: how much longer the token may be
        refused because it is new; 0 or less: no longer. `jitter`: the part to take of a wait that the platform did not
        ask for, so that calls that failed together do not come back together.
        """
        if failed.repeat == "credential":
            if settling_s > 0:
                return min(self.first_wait_s * 2.0**self.refusals, LONGEST_SETTLING_WAIT_S, settling_s)
            return (
                self.first_wait_s * CREDENTIAL_WAITS[self.refusals] if self.refusals < len(CREDENTIAL_WAITS) else None
            )
        may_repeat = failed.repeat == "always" or (failed.repeat == "repeatable" and repeatable)
        if not may_repeat or self.failures >= self.most:
            return None
        if failed.wait_s is not None:
            return failed.wait_s if failed.wait_s <= LONGEST_THROTTLE_S else None
        return min(self.first_wait_s * 2.0**self.failures, LONGEST_WAIT_S) * jitter


def read(
    answer: HttpAnswer,
    *,
    repeatable: bool,
    secret: str = "",
    graphql: bool = False,
    gone: frozenset[int] = frozenset(),
) -> Envelope | Failed:
    """The envelope of a good answer, or what is wrong with it.

    `repeatable`: the call may be sent twice; of any other, a failure that leaves its outcome open is EdgeUnknown.
    `secret`: cut out of the platform's text, should it quote it. `graphql`: an answer without the v4 envelope.
    `gone`: the numeric codes with which a 404 is EdgeGone; any other 404 says nothing about what was asked for.
    """
    status = answer.status
    try:
        envelope = _unwrapped(answer.body) if graphql and status < 300 else Envelope.model_validate_json(answer.body)
    except ValidationError:  # an HTML page of a proxy on the way, an empty body, half a body
        envelope = None
    wait_s = seconds(answer.retry_after)
    first = _first_error(envelope, secret)
    if status == _HTTP_THROTTLED:  # platform docs: the status tells, no numeric code does
        waits = None if wait_s is None else round(wait_s)
        return Failed(
            EdgeUnavailable(
                "The edge platform throttles this token.",
                remote_status=status,
                remote_code=first.code,
                retry_after_s=waits,
            ),
            "always",
            wait_s,
        )
    if status >= _HTTP_FAILED or status == _HTTP_TIMEOUT:
        return _unclear("The edge platform failed", status, first, wait_s, repeatable=repeatable)
    if envelope is None:
        if status < 300:  # a good status: something may have been done
            return _unclear("The edge platform's answer cannot be read", status, _Error(), None, repeatable=repeatable)
        if status == _HTTP_FORBIDDEN and answer.ray_id is not None:
            return Failed(Blocked(answer.ray_id[:_RAY_CHARS], remote_status=status), "never")
        return Failed(
            EdgeUnavailable("Something before the edge platform answered instead of it.", remote_status=status),
            "always",
        )
    if status < 300 and envelope.success:
        return envelope
    if status == _HTTP_NOT_FOUND:
        # "Could not route to …" (7003, 7000) is said of what is there, too, and a proxy's 404 of anything.
        if first.code in gone:
            return Failed(EdgeGone(first.message, remote_status=status, remote_code=first.code), "never")
        return Failed(
            EdgeUnavailable(f"Not found: {first.message}", remote_status=status, remote_code=first.code), "always"
        )
    return _refusal(status, first, repeatable=repeatable)


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


def _first_error(envelope: Envelope | None, secret: str) -> _Error:
    if not envelope or not envelope.errors:
        return _Error()
    first = envelope.errors[0]
    text = first.message.replace(secret, "…") if secret else first.message
    return _Error(code=first.code, message=text[:MESSAGE_CHARS])


def _unclear(what: str, status: int, first: _Error, wait_s: float | None, *, repeatable: bool) -> Failed:
    kind = EdgeUnavailable if repeatable else EdgeUnknown
    text = f"{what}: {first.message}" if first.message else f"{what}."
    waits = None if wait_s is None else round(wait_s)
    error = kind(text, remote_status=status, remote_code=first.code, retry_after_s=waits)
    return Failed(error, "repeatable", wait_s)


def _refusal(status: int, first: _Error, *, repeatable: bool) -> Failed:
    message = first.message or f"The edge platform refused with status {status}."
    if _DAILY_LIMIT in first.message:
        rows: Literal["read", "write"] = "write" if f"{_DAILY_LIMIT}write" in first.message else "read"
        return Failed(DailyLimit(rows, remote_status=status, remote_code=first.code), "never")
    if first.code == _CONCURRENT_CHANGE:
        return Failed(EdgeUnavailable(message, remote_status=status, remote_code=first.code), "always")
    if any(text in first.message for text in _TRANSIENT_TEXTS):
        return _unclear("The edge platform failed", status, first, None, repeatable=repeatable)
    code: Code = _REFUSALS.get(first.code, "cloudflare_error")
    repeat: Repeat = "never"
    if status == _HTTP_UNAUTHORIZED or first.code in _DEAD_TOKEN:
        code, repeat = "token_refused", "credential"
    elif status == _HTTP_FORBIDDEN and code == "cloudflare_error" and first.code not in _FORBIDDEN_FOR_ANOTHER_REASON:
        code, repeat = "permission_error", "credential"
    return Failed(EdgeRefused(code, message, remote_status=status, remote_code=first.code), repeat)


def compact(value: object) -> bytes:
    """JSON for a request body."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
