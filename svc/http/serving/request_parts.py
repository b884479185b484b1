"""Reads the parts of the framework's request that `gate` checks, and the request data for the handler."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import trio
from quart import request

from svc.api.endpoint import ID_PREFIXES, TAG_PARAMETER
from svc.api.fields import Wrong
from svc.api.link_texts import parse_tag
from svc.api.shape import NoQuery, Query, parse_query
from svc.errors import Invalid, Issue, NotFound, ServiceError
from svc.http.serving.accept_language import preferred_language
from svc.http.serving.direct import read_body
from svc.http.serving.requests import RequestInfo
from svc.ids import is_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.api.endpoint import Endpoint
    from svc.http.serving.credentials import Credentials

Q = TypeVar("Q", bound=Query)

_LONGEST_KEY = 200


def request_info(credentials: Credentials) -> RequestInfo:
    """Return the current request's data for its handler. `credentials` determines the client's address."""
    headers = request.headers
    scope: Any = request.scope
    return RequestInfo(
        method=request.method,
        client=credentials.client(request.remote_addr, headers.getlist("X-Forwarded-For")),
        authorization=headers.get("Authorization"),
        user_agent=headers.get("User-Agent", ""),
        cookies=headers.get("Cookie", ""),
        accept=",".join(headers.getlist("Accept")),
        language=preferred_language(",".join(headers.getlist("Accept-Language"))),
        headers=scope["headers"],
    )


def path_id(endpoint: Endpoint[Any, Any], path: Mapping[str, str]) -> str:
    """Return the first id or the normalized tag in the path, or "" if there is none.

    If it is malformed, raises NotFound without querying the store.
    """
    return next((_path_part(name, path[name]) for name in endpoint.id_names), "")


def _path_part(name: str, given: str) -> str:
    if name == TAG_PARAMETER:
        try:
            return parse_tag(given)
        except Wrong:
            raise NotFound from None
    if not is_id(ID_PREFIXES[name], given):
        raise NotFound
    return given


def idempotency_key(*, required: bool) -> str | None:
    """Return the request's Idempotency-Key (rules G1 and G2 in docs/develop/conformance.md), or None.

    Raises Invalid if the key is malformed or sent twice, or if it is `required` but missing.
    """
    values = request.headers.getlist("Idempotency-Key")
    if not values:
        if required:
            raise Invalid([Issue("Idempotency-Key", "this header is required with an API key")])
        return None
    try:
        # Clients send non-ASCII keys as UTF-8, but the framework decodes headers as Latin-1.
        key = values[0].encode("latin-1").decode()
    except UnicodeDecodeError:
        key = ""
    if len(values) > 1 or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
        raise Invalid(
            [Issue("Idempotency-Key", f"must be sent once, with 1 to {_LONGEST_KEY} printable characters in UTF-8")]
        )
    return key


def query_of(endpoint: Endpoint[Any, Q]) -> Q:
    """Return the parsed query. Raises Invalid if it is too long or does not match the endpoint's declaration."""
    model: type[Any] = endpoint.query or NoQuery
    if len(request.query_string) > model.most_chars:
        raise Invalid([Issue("", f"the query must have at most {model.most_chars} characters")])
    query: Q = parse_query(model, request.args.to_dict(flat=False))
    return query


async def discard_body(most_bytes: int) -> None:
    """Read a body of any type and discard it.

    Raises ServiceError with the code payload_too_large, or Invalid if the body does not arrive in time.
    """
    size_bytes = 0
    with trio.move_on_after(request.body_timeout or math.inf) as reading:
        async for data in request.body:
            size_bytes += len(data)
            if size_bytes > most_bytes:
                raise ServiceError("payload_too_large")
    if reading.cancelled_caught:
        raise Invalid([Issue("", "the body did not arrive in time")])


async def raw_body(most_bytes: int | None = None) -> bytes:
    """Read the request's body of up to `most_bytes`. None means `[http] max_body_bytes`.

    Raises the errors of `read_body`. Raises HTTPException if the body is larger than `[http] max_body_bytes`.
    """
    return await read_body(
        request.body,
        most_bytes or request.max_content_length or math.inf,
        declared_bytes=request.content_length or 0,
        mimetype=request.mimetype,
        within_s=request.body_timeout or math.inf,
    )
