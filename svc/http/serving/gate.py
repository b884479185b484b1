"""Checks each request before its handler is called, and creates the response afterwards.

The endpoint's declaration (svc/api) determines the checks and the response.

    credential ─► scopes ─► Idempotency-Key ─► query ─► path id ─► body ─► earlier response ─► handler ─► response

Because of this order, a caller learns nothing about objects that its credential may not access, and no body is read
without a valid credential. A handler gets the request's data as an argument (`requests`) and never reads the
framework's request.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from quart import g, request

from svc.api.endpoint import JSON_TYPE
from svc.api.shape import SMALL_BYTES, Body, Query, parse_body
from svc.errors import Forbidden
from svc.http.serving.credentials import Caller, Credentials, RateLimited, require
from svc.http.serving.direct import not_json
from svc.http.serving.origin import is_cross_origin
from svc.http.serving.request_parts import (
    discard_body,
    idempotency_key,
    path_id,
    query_of,
    raw_body,
    request_info,
)
from svc.http.serving.requests import Form, PublicRead, Read, Write
from svc.http.serving.responses import Streamed, response_of, stream_response, to_response
from svc.store.idempotency import Claim

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from quart import Response

    from svc.api.endpoint import Endpoint
    from svc.api.shape import ResponseBody
    from svc.http.serving.bodies import Bodies
    from svc.http.serving.idempotency import Idempotency
    from svc.http.serving.requests import RequestInfo
    from svc.store.idempotency import StoredResponse

B = TypeVar("B", bound=Body)
Q = TypeVar("Q", bound=Query)


class Gate:
    """Checks a request, calls its handler, and turns the return value into a response."""

    def __init__(self, credentials: Credentials, idempotency: Idempotency, bodies: Bodies, origin: str) -> None:
        self._credentials = credentials
        self._idempotency = idempotency
        self._bodies = bodies
        self._origin = origin

    async def read(
        self,
        endpoint: Endpoint[Any, Q],
        handler: Callable[[Read[Q]], Awaitable[ResponseBody | Response | Streamed]],
        path: Mapping[str, str],
    ) -> Response:
        """Serve a read request."""
        info = request_info(self._credentials)
        caller = await self._caller(endpoint, info)
        query = query_of(endpoint)
        response = await handler(Read(caller, path_id(endpoint, path), query, info))
        if isinstance(response, Streamed):
            response = replace(response, chunks=self._while_valid(caller, response.chunks))
            return stream_response(response, endpoint.status, head_only=info.method == "HEAD")
        return to_response(response, endpoint.status)

    async def write(
        self,
        endpoint: Endpoint[B, Any],
        model: type[B],
        handler: Callable[[Write[B]], Awaitable[StoredResponse]],
        complete: Callable[[StoredResponse], StoredResponse] | None,
        path: Mapping[str, str],
    ) -> Response:
        """Serve a write request. If the endpoint stores responses, the handler runs only once per Idempotency-Key.

        `complete`: completes each response, even a stored response that is sent again, with the parts that must not be
        stored.
        """
        info = request_info(self._credentials)
        caller = await self._caller(endpoint, info)
        key = idempotency_key(required=caller.key is not None)
        query_of(endpoint)
        object_id = path_id(endpoint, path)
        raw = await raw_body(model.most_bytes)
        await self._credentials.check_not_revoked(caller)  # the API key may have been revoked while the body arrived
        if key is None or endpoint.leaving:  # if the user is deleted, a stored response would be deleted as well
            body, claim = await self._bodies.parse(model, raw), None
        else:
            body, digest = await self._bodies.parse_and_digest(model, raw, f"{caller.user.id} {key}")
            claim = Claim(caller.user.id, caller.edge_accounts, info.method, request.path, key, digest)
        write = Write(caller, object_id, body, info, claim, endpoint, self._idempotency)
        response = await self._idempotency.once(claim, lambda: handler(write))
        return response_of(response if complete is None else complete(response))

    async def form(
        self,
        endpoint: Endpoint[B, Any],
        model: type[B],
        handler: Callable[[Form[B]], Awaitable[ResponseBody | Response]],
        admit: Callable[[RequestInfo], None] | None,
        path: Mapping[str, str],
    ) -> Response:
        """Serve a form, which needs no credential.

        Requests from pages of other origins are rejected. Even an empty body must be declared as JSON, because browsers
        then send a preflight request before a request to another origin.
        """
        headers = request.headers
        if is_cross_origin(headers.getlist("Sec-Fetch-Site"), headers.getlist("Origin"), self._origin):
            raise Forbidden("cross_origin")
        info = request_info(self._credentials)
        if admit is not None:
            admit(info)
        if request.mimetype != JSON_TYPE:
            raise not_json()
        query_of(endpoint)
        object_id = path_id(endpoint, path)
        idempotency_key(required=False)
        body = parse_body(model, await raw_body(model.most_bytes))
        return to_response(await handler(Form(body, info, object_id)), endpoint.status)

    async def public(
        self,
        endpoint: Endpoint[Any, Q],
        handler: Callable[[PublicRead[Q]], Awaitable[ResponseBody | Response]],
        path: Mapping[str, str],
    ) -> Response:
        """Serve a read request that needs no credential. The handler checks the format of the ids in the path."""
        info = request_info(self._credentials)
        query = query_of(endpoint)
        object_id, part_id, *_ = *(path[name] for name in endpoint.id_names), "", ""
        return to_response(await handler(PublicRead(object_id, part_id, query, info)), endpoint.status)

    async def open(
        self, endpoint: Endpoint[Any, Any], handler: Callable[[RequestInfo], Awaitable[ResponseBody | Response]]
    ) -> Response:
        """Serve a request to an endpoint that needs no checks."""
        return to_response(await handler(request_info(self._credentials)), endpoint.status)

    async def mail_link(
        self,
        endpoint: Endpoint[Any, Any],
        handler: Callable[[RequestInfo, str], Awaitable[Response]],
        path: Mapping[str, str],
    ) -> Response:
        """Serve a link in an email.

        Requests from other origins are accepted, because pages of webmail clients send them.
        """
        token = path_id(endpoint, path)
        await discard_body(SMALL_BYTES)
        return await handler(request_info(self._credentials), token)

    async def _caller(self, endpoint: Endpoint[Any, Any], info: RequestInfo) -> Caller:
        """Return the caller.

        Raises Unauthorized, Forbidden (codes session_required and scope_required) or ServiceError (code rate_limited).
        """
        try:
            caller, headers = await self._credentials.caller(info.authorization, info.client, leaving=endpoint.leaving)
        except RateLimited as error:
            g.headers = error.headers
            raise
        g.headers = headers
        require(caller, endpoint.scopes, session_only=endpoint.access == "session")
        return caller

    async def _while_valid(self, caller: Caller, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yield the chunks until the caller's API key is revoked.

        The check is necessary because a slow client may read a response for hours. Raises Unauthorized.
        """
        async with aclosing(chunks):
            async for chunk in chunks:
                await self._credentials.check_not_revoked(caller)
                yield chunk
