"""Converts responses to bytes, for storing, and to response objects of the framework."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_core import to_json
from quart import Response
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from svc.api.endpoint import JSON_TYPE
from svc.errors import ServiceError
from svc.faults import kind_of
from svc.store.idempotency import StoredResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from svc.api.shape import ResponseBody

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Streamed:
    """A response that is produced in chunks, as fast as the client reads it.

    The framework's response timeout does not apply. Instead, the server's timeout applies to each chunk. `chunks` must
    not hold a transaction, a lock or a nursery across a yield.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


class StreamAborted(Exception):
    """Raised if a stream failed after a part of it was sent. The failure was logged.

    The connection must be reset, so that the client does not consider the response complete.
    """


def stored(response: ResponseBody, status: int) -> StoredResponse:
    """Return a response that contains the object as bytes, so that it can be stored and sent again later."""
    return StoredResponse(status, response.to_bytes(), JSON_TYPE, {})


def refusal(error: ServiceError) -> StoredResponse:
    """Return the response for an error, with its body as bytes, so that it can be stored and sent again later."""
    return StoredResponse(error.status, to_json(error.body()), JSON_TYPE, {})


def response_of(response: StoredResponse) -> Response:
    """Convert a stored response to the framework's response object."""
    return Response(response.body, response.status, headers=response.headers, content_type=response.content_type)


def to_response(response: ResponseBody | Response, status: int = 200) -> Response:
    """Convert the return value of a handler to the framework's response object."""
    if isinstance(response, Response):
        return response
    return Response(response.to_bytes(), status, content_type=JSON_TYPE)


def stream_response(streamed: Streamed, status: int, *, head_only: bool) -> Response:
    """Convert a stream to the framework's response object. `head_only`: omit the body, for HEAD."""
    body = b"" if head_only else _logged_chunks(streamed.chunks)
    response = Response(body, status, headers=dict(streamed.headers), content_type=streamed.content_type)
    # the framework sets this header for HEAD, but the length of a stream is unknown
    response.headers.pop("Content-Length", None)
    response.timeout = None
    return response


def accepted(accept: str, *media_types: str) -> str:
    """Return the media type that the client prefers. If none is preferred, return the first of `media_types`.

    `accept`: the Accept header.
    """
    offered = [f"{each}{charset}" for each in media_types for charset in ("", ";charset=utf-8")]
    best = parse_accept_header(accept, MIMEAccept).best_match(offered, media_types[0])
    return str(best).partition(";")[0]


async def _logged_chunks(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the chunks. If the stream fails, log the failure and raise StreamAborted."""
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    except Exception as error:
        expected = isinstance(error, ServiceError)  # for example, the store is unavailable or the API key was revoked
        log.log(
            logging.WARNING if expected else logging.ERROR,
            "response aborted",
            exc_info=None if expected else error,
            extra={"kind": kind_of(error)},
        )
        raise StreamAborted from error
