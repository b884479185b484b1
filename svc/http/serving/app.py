"""The application for the web framework (Quart): the handlers of all resources, and the responses to errors."""

from __future__ import annotations

import logging
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from quart import Response, g, request
from quart_trio import QuartTrio
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import NotFound as UnknownPath

from svc.errors import Invalid, Issue, NotFound, ServiceError
from svc.http.resources.account_operations import AccountOperations
from svc.http.resources.accounts import Accounts
from svc.http.resources.auth_events import AuthEvents
from svc.http.resources.auth_limits import AuthLimits
from svc.http.resources.bulk import Bulk
from svc.http.resources.email_changes import EmailChanges
from svc.http.resources.events import Events
from svc.http.resources.explain import Explain
from svc.http.resources.export import Export
from svc.http.resources.health_checks import HealthChecks
from svc.http.resources.identity import PublicIdentity
from svc.http.resources.imports import Imports
from svc.http.resources.keys import Keys
from svc.http.resources.ledger import Ledger
from svc.http.resources.link_hosts import LinkHosts
from svc.http.resources.links import Links
from svc.http.resources.mailings import Mailings
from svc.http.resources.me import Me
from svc.http.resources.notes import Notes
from svc.http.resources.overview import Overview
from svc.http.resources.page_titles import PageTitles
from svc.http.resources.password_check import PasswordCheck
from svc.http.resources.password_resets import PasswordResets
from svc.http.resources.probes import Probes
from svc.http.resources.push import Push
from svc.http.resources.qr_codes import QrCodes
from svc.http.resources.recipients import Recipients
from svc.http.resources.reports import Reports
from svc.http.resources.sessions import Sessions
from svc.http.resources.shared import SharedPages
from svc.http.resources.shares import Shares
from svc.http.resources.sign_ins import SignIns
from svc.http.resources.sign_ups import SignUps
from svc.http.resources.sites import Sites
from svc.http.resources.tags import Tags
from svc.http.resources.totals import Totals
from svc.http.resources.zones import Zones
from svc.http.serving.bodies import Bodies
from svc.http.serving.credentials import Credentials
from svc.http.serving.endpoints import Endpoints
from svc.http.serving.front import DEFAULT_HEADERS, RECORD_KEY, Front, RequestRecord, headers_of
from svc.http.serving.gate import Gate
from svc.http.serving.idempotency import Idempotency
from svc.http.serving.origin import origin_of
from svc.http.serving.responses import refusal, response_of
from svc.http.serving.web import METHODS
from svc.metrics import REPLAYED

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.web import Web


log = logging.getLogger(__name__)

# The maximum time from the end of the headers to the end of the body. On a slow connection, 1 MiB takes about 1 s.
_BODY_TIMEOUT_S = 10
_SENDING_TIMEOUT_S = 30


def create_app(deps: Deps) -> QuartTrio:
    """Return the API and the web application as one ASGI application."""
    context, config = deps.context, deps.context.config
    app = QuartTrio("svc", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = config.http.max_body_bytes
    app.config["BODY_TIMEOUT"] = _BODY_TIMEOUT_S
    app.config["RESPONSE_TIMEOUT"] = _SENDING_TIMEOUT_S
    credentials = Credentials(context.store, config, context.clock)
    auth_events = AuthEvents(context.clock)
    passwords = PasswordCheck(context.store, context.clock, config.limits.wrong_passwords_per_hour, auth_events)
    idempotency = Idempotency(context.store, context.clock, config.limits.kept_answers_bytes)
    bodies = Bodies(passwords)
    endpoints = Endpoints(app, Gate(credentials, idempotency, bodies, origin_of(deps.base_url)))
    limits = AuthLimits(config.limits.sign_ins_per_minute, context.clock)
    for form in (SignUps, SignIns, PasswordResets, EmailChanges):
        form(deps, endpoints, passwords, auth_events, limits)
    Me(deps, endpoints, passwords)
    Sessions(deps, endpoints, passwords)
    Shares(deps, endpoints, passwords)
    SharedPages(deps, endpoints, auth_events)
    Push(deps, endpoints, bodies)
    resources = (
        Probes, PublicIdentity, Events, Keys, Accounts, Zones, AccountOperations, HealthChecks, LinkHosts, Sites,
        Links, QrCodes, Bulk, Tags, PageTitles, Explain, Reports, Overview, Totals, Imports, Notes, Mailings,
        Recipients, Export, Ledger,
    )  # fmt: skip
    for resource in resources:
        resource(deps, endpoints)
    app.before_request(_begin)
    app.after_request(_finish)
    app.register_error_handler(ServiceError, _refused)
    app.register_error_handler(HTTPException, _refused_by_framework)
    app.register_error_handler(Exception, _failed)
    app.register_error_handler(UnknownPath, partial(_unknown_path, deps.web))
    front = Front(
        app.asgi_app,
        endpoints.directly,
        deps.web,
        context.metrics,
        most_bytes=config.http.max_body_bytes,
        within_s=_BODY_TIMEOUT_S,
        logs=config.http.access_log,
    )
    app.asgi_app = front  # type: ignore[method-assign]  # Quart documents this way to add middleware
    return app


async def _begin() -> None:
    g.request_id = _record().request_id
    g.headers = {}
    if request.url_rule is not None:
        _record().route = request.url_rule.endpoint.partition(" ")[2]


def _record() -> RequestRecord:
    """Return the `RequestRecord` of the current request. Handlers add measurements to it."""
    scope: Any = request.scope
    record: RequestRecord = scope[RECORD_KEY]
    return record


async def _finish(response: Response) -> Response:
    """Add the headers that all responses have, including error responses."""
    response.headers["X-Request-Id"] = g.request_id
    for name, value in {**DEFAULT_HEADERS, **g.headers}.items():
        response.headers.setdefault(name, value)
    record = _record()
    if response.status_code >= HTTPStatus.BAD_REQUEST and record.code is None:
        record.code = REPLAYED
    return response


async def _refused(error: ServiceError) -> Response:
    _record().code = error.code
    if error.code == "internal":  # a log line with this request id has the traceback
        error = ServiceError("internal", details={"id": g.request_id})
    response = response_of(refusal(error))
    response.headers.update(headers_of(error))
    return response


async def _unknown_path(web: Web | None, error: UnknownPath) -> Response:
    """Return the 404 response for an unknown path. It is a page if the client accepts HTML, otherwise a JSON error."""
    del error
    wanted = {kind for kind, weight in request.accept_mimetypes if weight}
    if web is None or request.method not in METHODS or "text/html" not in wanted:
        return await _refused(NotFound())
    _record().code = "not_found"
    scope: Any = request.scope
    headers, body = web.missing(request.path, scope["headers"])
    return Response(body, HTTPStatus.NOT_FOUND, Headers([(name.decode(), value.decode()) for name, value in headers]))


async def _refused_by_framework(error: HTTPException) -> Response:
    """Return a response in the API's error format for an error that the framework raised, such as a wrong method."""
    match error.code:
        case 405:
            refused: ServiceError = ServiceError("method_not_allowed")
        case 413:
            refused = ServiceError("payload_too_large")
        case _:
            refused = Invalid([Issue("", error.name)])
    response = await _refused(refused)
    allowed = getattr(error, "valid_methods", None)
    if allowed:
        response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


async def _failed(error: Exception) -> Response:
    """Return the response for an unexpected exception.

    Log the traceback with the request id that the response contains.
    """
    log.error(
        "request failed",
        exc_info=error,
        extra={"method": request.method, "route": str(request.url_rule)},
    )
    return await _refused(ServiceError("internal"))
