"""Classifies responses from Cloudflare's API as results or failures, and decides whether to retry."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, StringConstraints, ValidationError

from svc.clock import epoch_ms
from svc.errors import CATALOGUE, Code, EdgeError, EdgeGone, EdgeRefused, EdgeUnavailable, EdgeUnknown

# The conditions under which a failed call can be retried:
# - never: the call would be refused again.
# - always: the call had no effect.
# - repeatable: the call may have taken effect, so only idempotent calls are retried.
# - credential: the credential was refused, and the call had no effect. Such calls are retried a few times, or more
#   often while the token is new.
Repeat = Literal["never", "always", "repeatable", "credential"]

MESSAGE_CHARS = 500  # maximum length of Cloudflare's message in an error

LONGEST_WAIT_S = 4.0
LONGEST_SETTLING_WAIT_S = 15.0
# Delays before a retry after a refused credential, as multiples of the first wait (1, 4 and 10 s by default).
# Cloudflare occasionally refuses valid tokens (user reports of the codes 10000 and 7403). The retries hide these
# refusals from users.
CREDENTIAL_WAITS = (4, 16, 40)
# The longest wait after which a throttled call is retried. If a token exceeds its rate limit, Cloudflare blocks the
# token for five minutes. This is too long for a call to wait.
LONGEST_THROTTLE_S = 5.0

# Sources: Cloudflare docs, Workers error codes; wrangler for the codes 7502 and 7404 of D1.
_REFUSALS: dict[int, Code] = {
    7502: "name_taken",
    10020: "route_conflict",
    10031: "name_taken",
    10040: "name_taken",
    10063: "subdomain_required",
    10072: "cron_limit",
}
_DEAD_TOKEN = frozenset({1000, 9109})
# HTTP 403 usually means that Cloudflare rejected the token: it is invalid or lacks a permission, or there is no
# apparent reason. Each product has its own code for this (10000, 7403, 10023 …). A 403 with a code in `_REFUSALS` or
# with 1001 has another meaning. 1001 means that the calling token cannot grant the policies of a new token.
_FORBIDDEN_FOR_ANOTHER_REASON = frozenset({1001})
_CONCURRENT_CHANGE = 10035  # Cloudflare docs: another change is running, so wait and retry
# Messages of transient failures, with any HTTP status (Cloudflare docs: D1 "debug", Workers 10021).
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
# This limit has no documented numeric code, only this message (D1 limits, enforced on REST since 2026-09-01).
_DAILY_LIMIT = "exceeded D1's free tier daily row "

_RAY_CHARS = 40

_HTTP_UNAUTHORIZED, _HTTP_FORBIDDEN, _HTTP_NOT_FOUND = 401, 403, 404
_HTTP_TIMEOUT, _HTTP_THROTTLED, _HTTP_FAILED = 408, 429, 500


class DailyLimit(EdgeUnavailable):
    """Raised if the account has used up its free D1 rows for this UTC day.

    The call had no effect, and retries fail until midnight. `rows`: the limit that was reached, "read" or "write".
    """

    def __init__(self, rows: Literal["read", "write"], *, remote_status: int, remote_code: int) -> None:
        super().__init__(
            f"The account has used up today's free D1 row {rows}s; the limit resets at midnight UTC.",
            remote_status=remote_status,
            remote_code=remote_code,
        )
        self.rows: Literal["read", "write"] = rows


class Blocked(EdgeRefused):
    """Raised if the firewall of Cloudflare's API mistook the request body for an attack and blocked the request.

    A retry with the same body would also be blocked.

    `ray_id`: identifies the request to Cloudflare's support.
    """

    def __init__(self, ray_id: str, *, remote_status: int) -> None:
        super().__init__("edge_firewall", CATALOGUE["edge_firewall"].message, remote_status=remote_status)
        self.details = {**(self.details or {}), "ray_id": ray_id}
        self.ray_id = ray_id


class Shape(BaseModel):
    """The base class of response models.

    The models ignore unknown fields, and their validation errors do not show values. To shorten the service's startup,
    a model's validator is built when the model is first used.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)


# An id from Cloudflare, safe to use in a path.
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _utc_ms(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("not a string")  # noqa: TRY004  # pydantic turns a ValueError into an issue
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("a time without time zone")
    return epoch_ms(moment)


# A time from Cloudflare, as epoch ms.
Moment = Annotated[int, BeforeValidator(_utc_ms)]


class _Error(Shape):
    code: int = 0
    message: str = ""


class PageInfo(Shape):
    """The position of a page in a list. Cloudflare may omit any of the fields."""

    page: int | None = None
    per_page: int | None = None
    total_count: int | None = None
    total_pages: int | None = None


class Envelope(Shape):
    """The v4 envelope of all responses except GraphQL responses."""

    success: bool
    errors: list[_Error] | None = None
    result: JsonValue = None
    result_info: PageInfo | None = None


class _Graph(Shape):
    data: JsonValue = None
    errors: list[_Error] | None = None


@dataclass(frozen=True)
class HttpResponse:
    """An HTTP response. `retry_after` and `ray_id` are the values of the headers Retry-After and cf-ray, or None."""

    status: int
    body: bytes
    retry_after: str | None = None
    ray_id: str | None = None


@dataclass(frozen=True)
class Failed:
    """A failed call, and when it can be retried. `wait_s`: the delay that Cloudflare requested, or None."""

    error: EdgeError
    repeat: Repeat
    wait_s: float | None = None


@dataclass(frozen=True)
class Retry:
    """The retry policy of one call, and the number of its attempts so far.

    `most`: the maximum number of retries after failures. `first_wait_s`: the delay before the first retry, which
    doubles with each retry. `refusals`: the number of attempts with a refused credential. `failures`: the number of
    other failed attempts.
    """

    most: int
    first_wait_s: float
    failures: int = 0
    refusals: int = 0

    def counted(self, failed: Failed) -> Retry:
        """Return a copy of the policy in which the failed attempt is counted."""
        if failed.repeat == "credential":
            return replace(self, refusals=self.refusals + 1)
        return replace(self, failures=self.failures + 1)

    def wait_s(self, failed: Failed, *, repeatable: bool, settling_s: float, jitter: float) -> float | None:
        """Return the number of seconds until the next attempt, or None to give up.

        `repeatable`: True if the call is idempotent. `settling_s`: the remaining seconds in which Cloudflare may refuse
        the token because the token is new. After that time, it is zero or negative. `jitter`: a factor for delays that
        Cloudflare did not request. The factor spreads the retries of calls that failed at the same time.
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
    response: HttpResponse,
    *,
    repeatable: bool,
    secret: str = "",
    graphql: bool = False,
    gone: frozenset[int] = frozenset(),
) -> Envelope | Failed:
    """Return the envelope of a successful response, or the failure.

    `repeatable`: True if the call is idempotent. If a call that is not idempotent fails with an unknown outcome, the
    failure is EdgeUnknown. `secret`: the text to remove from Cloudflare's message. `graphql`: True if the response has
    no v4 envelope. `gone`: the numeric codes of a 404 response that mean that the object does not exist (EdgeGone).
    Other 404 responses prove nothing about the object.
    """
    status = response.status
    try:
        envelope = (
            _unwrapped(response.body) if graphql and status < 300 else Envelope.model_validate_json(response.body)
        )
    except ValidationError:  # an HTML page of a proxy, an empty body, a truncated body
        envelope = None
    wait_s = seconds(response.retry_after)
    first = _first_error(envelope, secret)
    if status == _HTTP_THROTTLED:  # Cloudflare documents this status for throttled calls, but no numeric code
        waits = None if wait_s is None else round(wait_s)
        return Failed(
            EdgeUnavailable(
                "Cloudflare is rate limiting this token.",
                remote_status=status,
                remote_code=first.code,
                retry_after_s=waits,
            ),
            "always",
            wait_s,
        )
    if status >= _HTTP_FAILED or status == _HTTP_TIMEOUT:
        return _unclear("Cloudflare returned an error", status, first, wait_s, repeatable=repeatable)
    if envelope is None:
        if status < 300:  # the request succeeded, so the change may have been made
            return _unclear("Cloudflare's response cannot be read", status, _Error(), None, repeatable=repeatable)
        if status == _HTTP_FORBIDDEN and response.ray_id is not None:
            return Failed(Blocked(response.ray_id[:_RAY_CHARS], remote_status=status), "never")
        return Failed(
            EdgeUnavailable("A proxy in front of Cloudflare's API responded instead of the API.", remote_status=status),
            "always",
        )
    if status < 300 and envelope.success:
        return envelope
    if status == _HTTP_NOT_FOUND:
        # "Could not route to …" (7003, 7000) also occurs for existing objects, and a proxy can return a 404 for any
        # request.
        if first.code in gone:
            return Failed(EdgeGone(first.message, remote_status=status, remote_code=first.code), "never")
        return Failed(
            EdgeUnavailable(f"Not found: {first.message}", remote_status=status, remote_code=first.code), "always"
        )
    return _refusal(status, first, repeatable=repeatable)


def no_response(what: str, *, sent: bool, repeatable: bool) -> Failed:
    """Return the failure for a call without a response. `sent`: True if the request may have reached Cloudflare."""
    if sent:
        return _unclear(what, 0, _Error(), None, repeatable=repeatable)
    return Failed(EdgeUnavailable(f"{what}."), "always")


def too_large(status: int, *, repeatable: bool) -> Failed:
    """Return the failure for a response above the size limit. If the call is not idempotent, its outcome is unknown."""
    text = "Cloudflare's response is too large."
    if repeatable:
        return Failed(EdgeRefused("cloudflare_error", text, remote_status=status), "never")
    return Failed(EdgeUnknown(text, remote_status=status), "never")


def unreadable(problem: ValidationError, status: int, *, repeatable: bool) -> Failed:
    """Return the failure for a result that cannot be parsed.

    The message contains the names of the fields, but not their values.
    """
    places = sorted({".".join(str(part) for part in issue["loc"]) for issue in problem.errors(include_input=False)})
    what = f"Cloudflare's response has an unknown format at {', '.join(places[:5])}"
    return _unclear(what, status, _Error(), None, repeatable=repeatable)


def seconds(retry_after: str | None) -> float | None:
    """Parse a Retry-After header as seconds.

    Return None if the header is absent, or is a date (Cloudflare sends no dates).
    """
    try:
        value = float(retry_after or "")
    except ValueError:
        return None
    return value if 0 <= value < 86_400 else None  # at most a day; excludes nan and inf


def _unwrapped(body: bytes) -> Envelope:
    """Wrap a GraphQL response in an envelope.

    GraphQL responses with errors have the HTTP status 200 (Cloudflare docs: graphql-api).
    """
    response = _Graph.model_validate_json(body)
    return Envelope(
        success=not response.errors and response.data is not None, errors=response.errors, result=response.data
    )


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
    message = first.message or f"Cloudflare rejected the request with status {status}."
    if _DAILY_LIMIT in first.message:
        rows: Literal["read", "write"] = "write" if f"{_DAILY_LIMIT}write" in first.message else "read"
        return Failed(DailyLimit(rows, remote_status=status, remote_code=first.code), "never")
    if first.code == _CONCURRENT_CHANGE:
        return Failed(EdgeUnavailable(message, remote_status=status, remote_code=first.code), "always")
    if any(text in first.message for text in _TRANSIENT_TEXTS):
        return _unclear("Cloudflare returned an error", status, first, None, repeatable=repeatable)
    code: Code = _REFUSALS.get(first.code, "cloudflare_error")
    repeat: Repeat = "never"
    if status == _HTTP_UNAUTHORIZED or first.code in _DEAD_TOKEN:
        code, repeat = "token_refused", "credential"
    elif status == _HTTP_FORBIDDEN and code == "cloudflare_error" and first.code not in _FORBIDDEN_FOR_ANOTHER_REASON:
        code, repeat = "permission_error", "credential"
    return Failed(EdgeRefused(code, message, remote_status=status, remote_code=first.code), repeat)


def compact(value: object) -> bytes:
    """Serialize a request body as compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
