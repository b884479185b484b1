"""Every refusal of the service: one tree, one catalogue.

    ServiceError                      an answer: has a code, a status and, where useful, details
      Invalid                         the request itself is wrong
      Unauthorized, Forbidden         the credential
      NotFound
      Conflict                        the state of things does not allow it
      Busy, Stopping                  try again
      StoreUnavailable                the service's own store failed: try again
      EdgeError                       the edge platform
        EdgeRefused                   it said no and will say no again
        EdgeUnavailable               it failed or was not reached: nothing was done, or it can be repeated
        EdgeUnknown                   no answer: the change may have happened; look it up before repeating
      Unreadable                      a sealed token cannot be opened

Anything that is not a ServiceError is a bug: it is logged with its traceback and answered as `internal`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The stable codes that an answer may carry at its top, with their status. One place; docs and OpenAPI are made from it.
CATALOGUE: dict[str, tuple[int, str]] = {
    "invalid_request": (
        400,
        "The request is not of the form that this endpoint takes; details.issues says where.",
    ),
    "unauthorized": (401, "The credential is missing, unknown, expired or revoked."),
    "scope_required": (403, "The key does not carry the scope that this endpoint needs."),
    "session_required": (403, "This endpoint takes a page session only, no API key."),
    "email_unconfirmed": (403, "The e-mail address must be confirmed first."),
    "invalid_password": (403, "The password is not right."),
    "limit_reached": (403, "A limit of this user or plan is reached."),
    "not_found": (404, "There is no such object, or it is not yours."),
    "method_not_allowed": (405, "The path exists, but not with this method."),
    "idempotency_conflict": (409, "This Idempotency-Key was used with a different body."),
    "operation_in_progress": (409, "Another operation on this edge account is running; retry shortly."),
    "key_already_issued": (409, "This Idempotency-Key issued a key before; its value is shown only once."),
    "account_taken": (409, "Another user has connected this edge account."),
    "already_connected": (409, "You have connected this edge account already."),
    "account_not_ready": (409, "The account is not in a state that allows this."),
    "site_exists": (409, "The account has a site with this host."),
    "link_exists": (409, "The account has a link with this code."),
    "link_host_required": (409, "The account needs a link host first."),
    "route_conflict": (409, "Another worker holds the route."),
    "site_not_active": (409, "The site is deleted."),
    "payload_too_large": (413, "The body is larger than the service takes."),
    "invalid_bootstrap": (422, "The edge platform does not accept the bootstrap token for this account."),
    "bootstrap_permission_error": (422, "The bootstrap token lacks a right; details.missing names it."),
    "zone_not_found": (422, "The host is in no active zone of the account, or has no proxied DNS record."),
    "rate_limited": (429, "Too many requests; Retry-After says when to come back."),
    "internal": (500, "The service failed; details.id finds the line in its log."),
    "permission_catalog": (502, "The edge platform's list of rights lacks one that is needed."),
    "token_rights_mismatch": (502, "The edge platform made the working token with other rights than asked."),
    "token_check_failed": (502, "The working token does not work."),
    "orphan_not_deleted": (502, "A token of an earlier lost connect could not be deleted."),
    "renew_lost": (
        502,
        "The outcome of the renewal is unknown; details.revoke_token names the token to revoke.",
    ),
    "cloudflare_unavailable": (503, "The edge platform failed or could not be reached; try again."),
    "service_full": (503, "The service takes no more accounts."),
    "not_configured": (503, "The operator has not configured this part of the service."),
    "busy": (503, "The service cannot take this now; Retry-After says when to come back."),
}


class ServiceError(Exception):
    """A refusal. `code` is stable and for programs, `message` is for people, `details` is JSON."""

    def __init__(
        self,
        code: str,
        message: str | None = None,
        details: Mapping[str, object] | None = None,
        *,
        retry_after_s: int | None = None,
    ) -> None:
        status, text = CATALOGUE.get(code, (HTTPStatus.INTERNAL_SERVER_ERROR, "An error."))
        self.code = code
        self.status = int(status)
        self.message = message or text
        self.details = dict(details) if details else None
        self.retry_after_s = retry_after_s
        super().__init__(f"{code}: {self.message}")

    def body(self) -> dict[str, object]:
        """The error object of the API: `{error: {code, message, details?}}`."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.details is not None:
            error["details"] = self.details
        return {"error": error}

    def noted(self) -> dict[str, object]:
        """What an account, an operation, a site or a link host keeps of it: `{code, message, details?}`."""
        note: dict[str, object] = {"code": self.code, "message": self.message}
        if self.details is not None:
            note["details"] = self.details
        return note


class Invalid(ServiceError):
    """The request is not of the right form. `issues`: (field path, message) pairs; path "" is the whole body."""

    def __init__(self, issues: Sequence[tuple[str, str]], message: str | None = None) -> None:
        listed = [{"path": path, "message": text} for path, text in issues]
        super().__init__("invalid_request", message, {"issues": listed})


class Unauthorized(ServiceError):
    """No valid credential."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__("unauthorized", message)


class Forbidden(ServiceError):
    """The credential is valid and does not allow this: scope_required, session_required, limit_reached…"""


class NotFound(ServiceError):
    """No such object, or another user's: the two are never told apart."""

    def __init__(self) -> None:
        super().__init__("not_found")


class Conflict(ServiceError):
    """The state of things does not allow it: any 409 of the catalogue."""


class Busy(ServiceError):
    """Too much is waiting: the mailbox of the account is full, or the mailer's."""

    def __init__(self, retry_after_s: int = 2) -> None:
        super().__init__("busy", retry_after_s=retry_after_s)


class Stopping(ServiceError):
    """The service is shutting down; what was asked may or may not have been begun."""

    def __init__(self) -> None:
        super().__init__("busy", "The service is restarting; try again.", retry_after_s=5)


class StoreUnavailable(ServiceError):
    """The service's store cannot do it now: away, full, read-only, or another change was in the way.

    Nothing was done, unless the message says that nobody knows. It is no fault of the account that met it.
    """

    def __init__(
        self, message: str = "The service's store does not answer; try again.", *, retry_after_s: int = 5
    ) -> None:
        super().__init__("busy", message, retry_after_s=retry_after_s)


class EdgeError(ServiceError):
    """The edge platform did not do what was asked. `status` of the remote answer, its numeric code, its text."""

    def __init__(self, code: str, message: str, *, remote_status: int = 0, remote_code: int = 0) -> None:
        details: dict[str, object] = {}
        if remote_status:
            details["status"] = remote_status
        if remote_code:
            details["edge_code"] = remote_code
        super().__init__(code, message, details or None)
        self.remote_status = remote_status
        self.remote_code = remote_code


class EdgeRefused(EdgeError):
    """The platform said no and will say no again. `code` names the refusal where the service knows it:
    permission_error, revoked, name_taken, cron_limit, route_conflict, cloudflare_error…"""


class EdgeUnavailable(EdgeError):
    """The platform failed, throttled or was not reached; nothing was changed, or the call can be repeated."""

    def __init__(
        self, message: str, *, remote_status: int = 0, remote_code: int = 0, retry_after_s: int | None = None
    ) -> None:
        super().__init__("cloudflare_unavailable", message, remote_status=remote_status, remote_code=remote_code)
        self.retry_after_s = retry_after_s


class EdgeUnknown(EdgeUnavailable):
    """A change was sent and no answer came: it may have happened. Look it up before repeating it."""


class Unreadable(ServiceError):
    """A sealed token cannot be opened with any key of the key file."""

    def __init__(self) -> None:
        super().__init__("credentials_unreadable", "The stored token cannot be opened with the service's key file.")
