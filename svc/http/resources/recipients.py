"""/m/{token}: the page on which a recipient of email reports confirms or unsubscribes.

The token in the path is the recipient's credential. The page needs no scripts and no sign-in. A GET request changes
nothing, because mail servers open the links in emails. Requests with unknown tokens are counted per network.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from quart import Response

from svc.api import mailings as api
from svc.api.endpoint import HTML_TYPE
from svc.errors import NotFound
from svc.http.resources.recipient_page import HEADERS, recipient_page, unknown_page
from svc.http.serving.credentials import admit, networks_of
from svc.ids import digest
from svc.limits import SlidingLimit
from svc.model import DEFAULT_LANGUAGE
from svc.store import recipients

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import RequestInfo
    from svc.store.recipients import Subscription

# The maximum number of requests with an unknown token per minute, for the client's own network and for the larger
# network around it.
_OWN_NETWORK, _NETWORK_AROUND = 30, 150


class Recipients:
    """The handlers of a recipient's page."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._identity = deps.identity
        self._limits = SlidingLimit(_OWN_NETWORK), SlidingLimit(_NETWORK_AROUND)
        endpoints.mail_link(api.PAGE, self.show)
        endpoints.mail_link(api.CONFIRM, self.confirm)
        endpoints.mail_link(api.UNSUBSCRIBE, self.unsubscribe)

    async def show(self, request: RequestInfo, token: str) -> Response:
        """Return the recipient's page."""
        self._count(request)
        found = await self._store.peek(recipients.subscription_of_token(digest(token)))
        return self._response(request, token, found)

    async def confirm(self, request: RequestInfo, token: str) -> Response:
        """Record that the recipient agrees to get the emails, and return the page."""
        self._count(request)
        found = await self._store.run(recipients.subscribe(digest(token), self._clock()))
        return self._response(request, token, found)

    async def unsubscribe(self, request: RequestInfo, token: str) -> Response:
        """Stop all emails to the recipient with this token, and return the recipient's page."""
        self._count(request)
        found = await self._store.run(recipients.unsubscribe(digest(token), self._clock()))
        return self._response(request, token, found)

    def _count(self, request: RequestInfo) -> None:
        """Count a request from the client's network. Raises ServiceError (code rate_limited)."""
        for limit, network in zip(self._limits, networks_of(request.client), strict=True):
            admit(limit, network, self._clock())

    def _response(self, request: RequestInfo, token: str, found: Subscription | None) -> Response:
        """Return the page. Raises NotFound if the token is unknown and the client is not a browser."""
        if found is not None:
            for limit, network in zip(self._limits, networks_of(request.client), strict=True):
                limit.give_back(network)
            page = recipient_page(found, token, self._identity)
            return Response(page, HTTPStatus.OK, headers=HEADERS, content_type=f"{HTML_TYPE}; charset=utf-8")
        if HTML_TYPE not in request.accept:
            raise NotFound
        page = unknown_page(request.language or DEFAULT_LANGUAGE, self._identity)
        return Response(page, HTTPStatus.NOT_FOUND, headers=HEADERS, content_type=f"{HTML_TYPE}; charset=utf-8")
