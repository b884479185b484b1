"""Tests of the interpretation of API responses, and of the retry policy."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from svc.edge.client import FIRST_WAIT_S
from svc.edge.responses import (
    CREDENTIAL_WAITS,
    LONGEST_SETTLING_WAIT_S,
    LONGEST_THROTTLE_S,
    LONGEST_WAIT_S,
    DailyLimit,
    Envelope,
    Failed,
    HttpResponse,
    Moment,
    Repeat,
    Retry,
    no_response,
    read,
    seconds,
)
from svc.errors import EdgeGone, EdgeRefused, EdgeUnavailable, EdgeUnknown


def refusal(code: int, message: str = "no") -> bytes:
    return json.dumps({"success": False, "errors": [{"code": code, "message": message}], "result": None}).encode()


@pytest.mark.parametrize(
    ("status", "edge_code", "code", "repeat"),
    [
        (403, 10000, "permission_error", "credential"),
        (403, 7403, "permission_error", "credential"),
        (401, 1000, "token_refused", "credential"),
        (403, 9109, "token_refused", "credential"),
        (401, 10000, "token_refused", "credential"),
        (400, 10072, "cron_limit", "never"),
        (409, 7502, "name_taken", "never"),
        (400, 10040, "name_taken", "never"),
        (409, 10020, "route_conflict", "never"),
        (400, 7500, "cloudflare_error", "never"),
        (403, 10023, "permission_error", "credential"),
        (403, 1234, "permission_error", "credential"),
        (403, 0, "permission_error", "credential"),
        (403, 1001, "cloudflare_error", "never"),
        (403, 10063, "subdomain_required", "never"),
        (403, 10072, "cron_limit", "never"),
        (200, 1, "cloudflare_error", "never"),
    ],
)
def test_refusals_are_mapped_to_error_codes(status: int, edge_code: int, code: str, repeat: str) -> None:
    failed = read(HttpResponse(status, refusal(edge_code)), repeatable=True)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, EdgeRefused)
    assert (failed.error.code, failed.repeat) == (code, repeat)
    assert (failed.error.remote_status, failed.error.remote_code) == (status, edge_code)


@pytest.mark.parametrize("body", [refusal(7003), refusal(7000), refusal(10007), b"<html>not here</html>"])
def test_only_404_with_the_products_code_means_missing(body: bytes) -> None:
    failed = read(HttpResponse(404, body), repeatable=True, gone=frozenset({7404}))
    assert isinstance(failed, Failed)
    assert type(failed.error) is EdgeUnavailable
    assert (failed.repeat, failed.error.remote_status) == ("always", 404)
    absent = read(HttpResponse(404, refusal(7404)), repeatable=True, gone=frozenset({7404}))
    assert isinstance(absent, Failed)
    assert type(absent.error) is EdgeGone
    assert absent.repeat == "never"


@pytest.mark.parametrize("status", [408, 500, 502, 504, 522])
@pytest.mark.parametrize("body", [refusal(10013), b"<html>bad gateway</html>", b""])
def test_outcome_of_a_change_is_unknown_after_a_server_error(status: int, body: bytes) -> None:
    sure = read(HttpResponse(status, body), repeatable=True)
    unsure = read(HttpResponse(status, body), repeatable=False)
    assert isinstance(sure, Failed)
    assert isinstance(unsure, Failed)
    assert type(sure.error) is EdgeUnavailable
    assert type(unsure.error) is EdgeUnknown
    assert sure.repeat == unsure.repeat == "repeatable"


def test_outcome_of_a_change_is_unknown_after_200_with_html() -> None:
    failed = read(HttpResponse(200, b"<html>"), repeatable=False)
    assert isinstance(failed, Failed)
    assert type(failed.error) is EdgeUnknown


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404])
def test_html_error_page_does_not_invalidate_the_token(status: int) -> None:
    failed = read(HttpResponse(status, b"<html>who are you?</html>"), repeatable=False)
    assert isinstance(failed, Failed)
    assert type(failed.error) is EdgeUnavailable
    assert failed.repeat == "always"


def test_throttling_is_detected_by_status_alone() -> None:
    failed = read(HttpResponse(429, refusal(10000), "7"), repeatable=False)
    assert isinstance(failed, Failed)
    assert type(failed.error) is EdgeUnavailable
    assert (failed.repeat, failed.wait_s, failed.error.retry_after_s) == ("always", 7.0, 7)


@pytest.mark.parametrize("rows", ["read", "write"])
def test_daily_limit_is_detected_by_message(rows: str) -> None:
    text = f"Your account has exceeded D1's free tier daily row {rows} limit. Upgrade to a paid plan or wait."
    failed = read(HttpResponse(400, refusal(7500, text)), repeatable=True)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, DailyLimit)
    assert (failed.error.rows, failed.repeat) == (rows, "never")


def test_concurrent_change_can_always_be_retried() -> None:
    failed = read(HttpResponse(409, refusal(10035)), repeatable=False)
    assert isinstance(failed, Failed)
    assert type(failed.error) is EdgeUnavailable
    assert failed.repeat == "always"


@pytest.mark.parametrize(
    "text",
    [
        "D1 DB is overloaded. Too many requests queued.",
        "binding DB failed to generate",
        "Cannot resolve D1 DB due to transient issue on remote node.",
        "Can't read from request stream because client disconnected.",
        "D1 DB's isolate exceeded its memory limit and was reset.",
        "D1 DB exceeded its CPU time limit and was reset.",
    ],
)
def test_transient_refusals_can_be_retried(text: str) -> None:
    failed = read(HttpResponse(400, refusal(10021, text)), repeatable=True)
    assert isinstance(failed, Failed)
    assert type(failed.error) is EdgeUnavailable
    assert failed.repeat == "repeatable"


def test_failure_before_sending_is_not_unknown() -> None:
    assert type(no_response("no route", sent=False, repeatable=False).error) is EdgeUnavailable
    assert type(no_response("closed", sent=True, repeatable=False).error) is EdgeUnknown
    assert type(no_response("closed", sent=True, repeatable=True).error) is EdgeUnavailable


@given(
    status=st.integers(200, 599),
    body=st.one_of(st.binary(max_size=60), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: json.dumps({"success": True, "errors": value, "result": value}).encode()
    )),
    retry_after=st.none() | st.text(max_size=8),
    repeatable=st.booleans(),
)  # fmt: skip
def test_any_response_is_an_envelope_or_a_known_failure(
    status: int, body: bytes, retry_after: str | None, repeatable: bool
) -> None:
    response = read(HttpResponse(status, body, retry_after), repeatable=repeatable)
    assert isinstance(response, (Envelope, Failed))
    if isinstance(response, Failed) and isinstance(response.error, EdgeUnknown):
        assert not repeatable


@given(st.text(min_size=40, max_size=60, alphabet="abcdefXYZ0123456789_-"), st.integers(400, 599))
def test_token_quoted_in_a_message_is_removed(secret: str, status: int) -> None:
    body = refusal(6003, f"Invalid header: Bearer {secret}, you see")
    failed = read(HttpResponse(status, body), repeatable=True, secret=secret)
    assert isinstance(failed, Failed)
    assert secret not in f"{failed!r} {failed.error} {failed.error.body()}"


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5.0), ("0", 0.0), (None, None), ("", None), ("soon", None), ("-1", None), ("nan", None), ("inf", None)],
)
def test_retry_after_is_parsed_as_seconds(text: str | None, value: float | None) -> None:
    assert seconds(text) == value


def test_times_without_time_zone_are_rejected() -> None:
    moment = TypeAdapter(Moment)
    assert moment.validate_python("2026-11-21T04:00:00Z") == 1_795_233_600_000
    assert moment.validate_python("2026-11-21T04:00:00.123456Z") == 1_795_233_600_123
    for wrong in ("2026-11-21T04:00:00", "soon", 5, None):
        with pytest.raises(ValidationError):
            moment.validate_python(wrong)


def failed(repeat: Repeat, wait_s: float | None = None) -> Failed:
    return Failed(EdgeUnavailable("no"), repeat, wait_s)


def waits(retry: Retry, failure: Failed, *, repeatable: bool = True, settling_s: float = 0) -> list[float]:
    """Return the delays between the attempts of a call if every attempt gets this response."""
    found: list[float] = []
    while (wait_s := retry.wait_s(failure, repeatable=repeatable, settling_s=settling_s, jitter=1)) is not None:
        found.append(wait_s)
        settling_s -= wait_s
        retry = retry.counted(failure)
        assert len(found) < 100
    return found


@pytest.mark.parametrize(
    ("repeat", "repeatable", "tries"),
    [
        ("always", True, 3),
        ("always", False, 3),
        ("repeatable", True, 3),
        ("repeatable", False, 0),
        ("never", True, 0),
        ("never", False, 0),
        ("credential", True, len(CREDENTIAL_WAITS)),
        ("credential", False, len(CREDENTIAL_WAITS)),
    ],
)
def test_number_of_retries_by_kind_of_failure_and_idempotency(repeat: Repeat, repeatable: bool, tries: int) -> None:
    assert len(waits(Retry(3, 0.25), failed(repeat), repeatable=repeatable)) == tries
    assert len(waits(Retry(0, 0.25), failed(repeat), repeatable=repeatable)) == (tries if repeat == "credential" else 0)


def test_waits_double_up_to_the_limit_with_jitter() -> None:
    assert waits(Retry(6, 0.25), failed("always")) == [0.25, 0.5, 1, 2, LONGEST_WAIT_S, LONGEST_WAIT_S]
    assert Retry(6, 0.25).wait_s(failed("always"), repeatable=True, settling_s=0, jitter=0.5) == 0.125


def test_requested_wait_is_followed_exactly_or_not_at_all() -> None:
    assert waits(Retry(2, 0.25), failed("always", LONGEST_THROTTLE_S)) == [LONGEST_THROTTLE_S] * 2
    assert Retry(2, 0.25).wait_s(failed("always", 1), repeatable=True, settling_s=0, jitter=0.5) == 1
    assert waits(Retry(2, 0.25), failed("always", LONGEST_THROTTLE_S + 1)) == []


def test_refused_credential_is_retried_for_fifteen_seconds() -> None:
    assert waits(Retry(3, FIRST_WAIT_S), failed("credential")) == [1, 4, 10]


def test_new_token_is_retried_until_it_has_settled() -> None:
    tried = waits(Retry(3, 0.25), failed("credential"), settling_s=60)
    assert tried == [0.25, 0.5, 1, 2, 4, 8, LONGEST_SETTLING_WAIT_S, LONGEST_SETTLING_WAIT_S, 14.25]
    assert sum(tried) == 60


def test_failures_and_refusals_are_counted_separately() -> None:
    retry = Retry(1, 0.25).counted(failed("credential"))
    assert retry.wait_s(failed("always"), repeatable=True, settling_s=0, jitter=1) == 0.25
    retry = retry.counted(failed("always"))
    assert retry.wait_s(failed("always"), repeatable=True, settling_s=0, jitter=1) is None
    assert retry.wait_s(failed("credential"), repeatable=True, settling_s=0, jitter=1) == 4
