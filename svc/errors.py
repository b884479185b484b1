"""The exceptions of the service and the catalog of error codes.

    ServiceError                      has a code, a status and, if useful, details
      Invalid                         the request is malformed or has invalid values
      Unauthorized, Forbidden         the credential is not valid, or does not allow the request
      NotFound
      Conflict                        the current state does not allow the request
      Busy, Stopping                  overloaded or shutting down: retry
      StoreUnavailable                the service's own store failed: retry
      EdgeError                       a call to Cloudflare's API
        EdgeRefused                   refused; a retry will also fail
          EdgeGone                    the object does not exist
        EdgeUnavailable               failed or unreachable: nothing was changed, or the call can be repeated
          EdgeUnknown                 no response: the change may have happened; check before repeating
      CannotUnseal                    a stored token cannot be decrypted

Any other exception is a bug. The service logs it with its traceback and responds with the code `internal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# All error codes. Error responses use the codes in the first group. The codes in the second group are stored with an
# account, an operation, a site or a link host. An error response replaces a stored code with its `shown_as` in
# CATALOGUE.
Code = Literal[
    "invalid_request",
    "unauthorized",
    "scope_required",
    "session_required",
    "user_disabled",
    "sign_up_closed",
    "link_disabled",
    "site_disabled",
    "email_unconfirmed",
    "invalid_password",
    "cross_origin",
    "limit_reached",
    "not_found",
    "method_not_allowed",
    "idempotency_conflict",
    "operation_in_progress",
    "key_already_issued",
    "account_taken",
    "already_connected",
    "account_not_ready",
    "site_exists",
    "site_on_link_host",
    "link_exists",
    "link_host_required",
    "link_host_is_website",
    "link_host_without_certificate",
    "route_conflict",
    "site_not_active",
    "note_automatic",
    "route_not_ours",
    "payload_too_large",
    "invalid_bootstrap",
    "bootstrap_permission_error",
    "zone_not_found",
    "zone_not_active",
    "dns_not_proxied",
    "rate_limited",
    "internal",
    "permission_catalog",
    "token_rights_mismatch",
    "token_check_failed",
    "orphan_not_deleted",
    "renew_lost",
    "cloudflare_unavailable",
    "service_full",
    "not_configured",
    "busy",
    # stored
    "revoked",
    "token_refused",
    "permission_error",
    "resource_drift",
    "credentials_missing",
    "credentials_unreadable",
    "bootstrap_lost",
    "name_taken",
    "schema_newer",
    "cron_limit",
    "subdomain_required",
    "self_check_timeout",
    "worker_silent",
    "link_host_not_resolved",
    "link_host_unreachable",
    "link_host_certificate",
    "link_host_redirected",
    "link_host_challenged",
    "link_host_other_answer",
    "edge_firewall",
    "cloudflare_error",
]


# Machine-readable reasons why a field is invalid. For `other`, only the message gives the reason.
IssueCode = Literal[
    "required",
    "unknown",
    "twice",
    "not_json",
    "not_object",
    "not_list",
    "not_text",
    "not_boolean",
    "not_integer",
    "too_long",
    "too_short",
    "too_many",
    "too_few",
    "too_large",
    "too_small",
    "too_much",
    "not_offered",
    "wrong_form",
    "not_host",
    "not_https",
    "not_path",
    "not_network",
    "not_email",
    "not_token",
    "not_day",
    "in_future",
    "end_before_start",
    "too_early",
    "too_many_points",
    "hours_not_stored",
    "not_combinable",
    "not_readable",
    "low_contrast",
    "reserved_code",
    "weak_password",
    "used_token",
    "on_link_host",
    "target_of_link",
    "target_of_fallback",
    "other",
]


class Issue(NamedTuple):
    """A validation problem. `path`: the field, or "" for the whole body. `limit`: the limit that the message names."""

    path: str
    message: str
    code: IssueCode = "other"
    limit: int | None = None

    def as_json(self) -> dict[str, str | int]:
        """Return the issue as it appears in `details.issues` of a response."""
        fields: dict[str, str | int] = {"path": self.path, "code": self.code, "message": self.message}
        return fields if self.limit is None else {**fields, "limit": self.limit}


@dataclass(frozen=True)
class Meaning:
    """The status and texts of an error code. `remedy` says what to do. `shown_as` replaces the code in responses."""

    status: int
    message: str
    remedy: str | None = None
    shown_as: Code | None = None


def _not_ready(message: str, remedy: str) -> Meaning:
    """Return the meaning of an account's problem. Responses have the code `account_not_ready` (`shown_as`)."""
    return Meaning(409, message, remedy, "account_not_ready")


_TRY_AGAIN = "Try again in a minute. If you repeat a write with the same Idempotency-Key, it is executed only once."
_TRY_WITH_NEW_KEY = "Try again with a new Idempotency-Key. If the error persists, contact the operator."
_RENEW = "Renew the working token with a new bootstrap token."

# The statuses, messages and remedies of all codes. A test checks that the tables in docs/use/errors.md match.
CATALOGUE: dict[Code, Meaning] = {
    "invalid_request": Meaning(400, "The request is not valid; details.issues lists the problems."),
    "unauthorized": Meaning(
        401, "The credential is missing, unknown, expired or revoked.", "Sign in again, or use a valid API key."
    ),
    "scope_required": Meaning(
        403, "The API key lacks the scope that this endpoint requires.", "Create a key with this scope."
    ),
    "session_required": Meaning(
        403,
        "This endpoint requires a signed-in session and does not accept API keys.",
        "Sign in and send the session's access token.",
    ),
    "user_disabled": Meaning(403, "The operator has disabled this user.", "Contact the operator."),
    "sign_up_closed": Meaning(
        403,
        "The operator has restricted sign-up, or the invitation is not valid for this email address.",
        "Ask the operator for an invitation. An invitation can be used once, with the invited email address, before"
        " it expires.",
    ),
    "link_disabled": Meaning(
        403,
        "The operator has disabled the link that has this code; details.disabled.reason gives the reason.",
        "Contact the operator.",
    ),
    "site_disabled": Meaning(
        403,
        "The operator has disabled the site with this host; details.disabled.reason gives the reason.",
        "Contact the operator.",
    ),
    "email_unconfirmed": Meaning(
        403,
        "The email address has not been confirmed.",
        "Open the link in the confirmation email, or request a new email.",
    ),
    "invalid_password": Meaning(403, "The password is incorrect."),
    "cross_origin": Meaning(
        403,
        "A page from another origin sent this request. Only the service's own pages can send it.",
        "Open the page at the service's own URL, which the operator sets as `base_url`. Clients other than browsers"
        " must send neither Origin nor Sec-Fetch-Site.",
    ),
    "limit_reached": Meaning(
        403,
        "The user has reached a limit.",
        "Delete what you no longer need, or ask the operator for a higher limit.",
    ),
    "not_found": Meaning(404, "The object does not exist, or you do not have access to it."),
    "method_not_allowed": Meaning(405, "This path does not support the request's method."),
    "idempotency_conflict": Meaning(
        409,
        "This Idempotency-Key was already used for a different request.",
        "Send the new request with a new Idempotency-Key.",
    ),
    "operation_in_progress": Meaning(
        409, "Another operation is running on this account.", "Try again when that operation has finished."
    ),
    "key_already_issued": Meaning(
        409,
        "A request with this Idempotency-Key already created an API key. The API key's value is shown only once.",
        "If you do not have the value, revoke this API key and create another with a new Idempotency-Key.",
    ),
    "account_taken": Meaning(
        409,
        "Another user has already connected this Cloudflare account.",
        "Ask that user, or the operator, to disconnect the account.",
    ),
    "already_connected": Meaning(409, "You have already connected this Cloudflare account."),
    "account_not_ready": Meaning(
        409,
        "The account's state does not allow this request.",
        "Get the account: GET /v1/accounts/{id}. Its fields `state` and `error` describe the problem. If the state"
        " stays `pending`, connect the account again.",
    ),
    "site_exists": Meaning(409, "The account already has a site with this host."),
    "site_on_link_host": Meaning(
        409,
        "This host is the account's link host, which serves only short links and has no pages to count.",
        "Choose the host that serves your pages, or set another link host first.",
    ),
    "link_exists": Meaning(409, "The account already has a link with this code.", "Choose another code."),
    "link_host_required": Meaning(
        409, "The account has no link host.", "Set a link host first: PUT /v1/accounts/{id}/link-host."
    ),
    "link_host_is_website": Meaning(
        409,
        "This host already serves a website, which would become unreachable; details.why gives the evidence.",
        "Choose a host that nothing else uses, such as go.example.com, and add a proxied AAAA record with the address"
        " 100:: for it. To use this host anyway, send `replace_website: true`. If the host is a site (details.why is"
        " `site`), delete the site first.",
    ),
    "link_host_without_certificate": Meaning(
        409,
        "Cloudflare's free certificate does not cover this host, which is more than one label below its zone.",
        "Choose a host one label below the zone, such as go.example.com. If you have ordered a certificate for this"
        " host from Cloudflare, send `has_certificate: true`.",
    ),
    "route_conflict": Meaning(
        409,
        "Another Worker already uses this route.",
        "Remove the other Worker's route in the Cloudflare dashboard. The service then creates its own route"
        " automatically.",
    ),
    "site_not_active": Meaning(409, "The site has been deleted."),
    "note_automatic": Meaning(
        409,
        "The service added this note automatically, so it cannot be changed.",
        "Delete the note, or add your own note.",
    ),
    "route_not_ours": Meaning(
        409,
        "One of the site's routes was changed outside the service, so the service did not delete this route.",
        "Delete the route in the Cloudflare dashboard if you do not need it.",
    ),
    "payload_too_large": Meaning(413, "The request body is too large."),
    "invalid_bootstrap": Meaning(
        422,
        "Cloudflare does not accept the bootstrap token for this account.",
        "Check the account id. Then open the URL in details.token_page and create a new bootstrap token in this"
        " account.",
    ),
    "bootstrap_permission_error": Meaning(
        422,
        "The bootstrap token lacks permissions; details.missing lists them.",
        "Create a bootstrap token with the permissions “Account Settings: Read” and “Account API Tokens: Edit”, and"
        " those in details.missing. The URL in details.token_page opens a form with these permissions selected.",
    ),
    "zone_not_found": Meaning(
        422,
        "The host does not belong to a zone of the account.",
        "Add the domain to the Cloudflare account as a zone, or choose a host in one of its zones.",
    ),
    "zone_not_active": Meaning(
        422,
        "The host's zone is not active; details.status gives the zone's status.",
        "Set the domain's name servers to those that the Cloudflare dashboard shows for the zone. If the zone is"
        " paused, resume it.",
    ),
    "dns_not_proxied": Meaning(
        422,
        "The host has no proxied DNS record; details.record gives the record that it needs.",
        "Create the record in the Cloudflare dashboard, or turn on the proxy (orange cloud) for the existing record.",
    ),
    "rate_limited": Meaning(429, "Too many requests; Retry-After gives the number of seconds to wait."),
    "internal": Meaning(
        500, "The service failed; details.id identifies the log entry.", "Contact the operator and quote this id."
    ),
    "permission_catalog": Meaning(
        502,
        "Cloudflare's list of permissions does not contain a permission that the service needs.",
        "Contact the operator, because the service needs an update.",
    ),
    "token_rights_mismatch": Meaning(
        502,
        "Cloudflare created the working token with different permissions than requested.",
        _TRY_WITH_NEW_KEY,
    ),
    "token_check_failed": Meaning(502, "The new working token could not be verified.", _TRY_WITH_NEW_KEY),
    "orphan_not_deleted": Meaning(
        502,
        "An earlier attempt to connect the account or renew its token was interrupted, and the tokens that it created"
        " could not be deleted.",
        "In the Cloudflare dashboard, delete the tokens listed in details.revoke_tokens. Then try again.",
    ),
    "renew_lost": Meaning(
        502,
        "The service does not know whether the token was renewed; details.revoke_tokens lists the tokens to delete.",
        "Delete these tokens in the Cloudflare dashboard, then renew the token again.",
    ),
    "cloudflare_unavailable": Meaning(503, "Cloudflare returned an error or could not be reached.", _TRY_AGAIN),
    "service_full": Meaning(503, "The service has reached its maximum number of accounts.", "Contact the operator."),
    "not_configured": Meaning(503, "The operator has not configured this feature.", "Contact the operator."),
    "busy": Meaning(
        503, "The service cannot handle this request now; Retry-After gives the number of seconds to wait."
    ),
    "revoked": _not_ready("The account's working token has expired, or was deleted or disabled.", _RENEW),
    "token_refused": _not_ready(
        "Cloudflare rejects the account's working token.",
        "Wait: the service checks the token every ten minutes, and the account recovers once Cloudflare accepts the"
        " token. If the token was deleted, renew it with a new bootstrap token. If Cloudflare still rejects the token"
        " after an hour, the account becomes `revoked`.",
    ),
    "permission_error": _not_ready(
        "The account's working token has lost a permission.",
        "Restore the token's permissions in the Cloudflare dashboard, or renew the token with a new bootstrap token.",
    ),
    "resource_drift": _not_ready(
        "The installed resources were changed or deleted outside the service.",
        "Install the Worker again: POST /v1/accounts/{id}/install. If the Worker was changed, delete it in the"
        " Cloudflare dashboard first.",
    ),
    "credentials_missing": _not_ready("The account's working token is missing.", _RENEW),
    "credentials_unreadable": _not_ready(
        "The stored working token cannot be decrypted with the service's key file.",
        "Ask the operator to restore the correct key file, or renew the working token with a new bootstrap token.",
    ),
    "bootstrap_lost": _not_ready(
        "The connect operation was interrupted.",
        "In the Cloudflare dashboard, delete the tokens listed in details.revoke_tokens, if they still exist. Then"
        " connect the account again.",
    ),
    "name_taken": _not_ready(
        "The account already has a Worker or database with the name that the service uses.",
        "Rename or delete that Worker or database in the Cloudflare dashboard, then retry the installation.",
    ),
    "schema_newer": _not_ready(
        "The Worker's database belongs to a newer version of the service, so nothing was changed.",
        "Ask the operator to run a version of the service that supports the schema in details.schema. The installed"
        " Worker keeps counting.",
    ),
    "cron_limit": _not_ready(
        "The Cloudflare account has reached its limit on cron triggers.",
        "Delete a cron trigger of another Worker, then install the Worker again.",
    ),
    "subdomain_required": _not_ready(
        "The Cloudflare account has no workers.dev subdomain, and the service could not create one.",
        "Open Workers in the Cloudflare dashboard and choose a workers.dev subdomain, then install the Worker again.",
    ),
    "self_check_timeout": _not_ready(
        "The Worker has not reported since it was installed.",
        "Wait: Cloudflare can take 15 minutes to start a new cron trigger, and the first report clears this warning. If"
        " the warning remains for half an hour, install the Worker again: POST /v1/accounts/{id}/install.",
    ),
    "worker_silent": _not_ready(
        "The Worker has not reported for more than a day.",
        "Install the Worker again: POST /v1/accounts/{id}/install. If it still does not report, contact the operator,"
        " because Cloudflare may be unable to reach the service.",
    ),
    "link_host_not_resolved": _not_ready(
        "The link host has no address in public DNS.",
        "Check the host's DNS record in the Cloudflare dashboard, and the name servers and DS record at the registrar.",
    ),
    "link_host_unreachable": _not_ready(
        "The service could not reach the link host.",
        "Open a short link in a browser. If it works, the service's next check removes this error. If not, check the"
        " zone in the Cloudflare dashboard.",
    ),
    "link_host_certificate": _not_ready(
        "The link host has no valid certificate.",
        "In the Cloudflare dashboard, under SSL/TLS, check that an active edge certificate covers the host.",
    ),
    "link_host_redirected": _not_ready(
        "Requests to the link host are redirected before they reach the Worker.",
        "Exclude the host from redirect rules and Access applications in the Cloudflare dashboard.",
    ),
    "link_host_challenged": _not_ready(
        "The link host shows a Cloudflare challenge page.",
        "Open a short link in a private window. If you also see the challenge page, exclude the host from the security"
        " rules in the Cloudflare dashboard. If not, no action is needed: Cloudflare's bot protection blocks only"
        " programs, such as this service.",
    ),
    "link_host_other_answer": _not_ready(
        "The link host's response does not come from the Worker.",
        "Check in the Cloudflare dashboard which rule or Worker handles requests to the host, and exclude the host"
        " from it.",
    ),
    "edge_firewall": Meaning(
        503,
        "The firewall of Cloudflare's API blocked the request because it resembles an attack.",
        "In the body of your request, change the URL or path that resembles an attack. If the body contains neither,"
        " give the operator `details.ray_id`, which Cloudflare support needs to find the request.",
        "cloudflare_unavailable",
    ),
    "cloudflare_error": Meaning(
        503,
        "Cloudflare rejected the request.",
        "Try again in a minute. After a failed install, install the Worker again. If the message names a daily limit,"
        " try again after midnight UTC. If you repeat a write with the same Idempotency-Key, it is executed only once.",
        "cloudflare_unavailable",
    ),
}


@dataclass(frozen=True)
class ErrorNote:
    """An error that is stored with an account, operation, site, link or link host. `details` is JSON.

    `finding`: the health check finding that the message describes, as JSON. Emails in other languages are generated
    from `finding` (`finding.sentence`). Responses do not contain this field.
    """

    code: Code
    message: str
    details: dict[str, object] | None = None
    finding: dict[str, object] | None = None


# Codes whose message quotes Cloudflare. Their remedies refer to the quoted text, so emails in other languages add the
# original message to its translation.
QUOTES: tuple[Code, ...] = ("cloudflare_error", "edge_firewall")


class ServiceError(Exception):
    """An error that a response can show.

    `code` is stable and intended for API clients; `message` is intended for people.

    `status` is the response's HTTP status; `details` is JSON. `had_effect`: True if the request changed something
    before it failed permanently, so a repeated request must not run again (see `svc.http.serving.idempotency`).
    """

    def __init__(
        self,
        code: Code,
        message: str | None = None,
        details: Mapping[str, object] | None = None,
        *,
        retry_after_s: int | None = None,
        had_effect: bool = False,
    ) -> None:
        meaning = CATALOGUE[code]
        self.code: Code = code
        self.status = meaning.status
        self.message = message or meaning.message
        self.details = dict(details) if details else None
        self.retry_after_s = retry_after_s
        self.had_effect = had_effect
        super().__init__(f"{code}: {self.message}")

    def body(self) -> dict[str, object]:
        """Return the response body `{error: {code, message, details?}}`, with the remedy in the details.

        If the code has a `shown_as` in CATALOGUE, the body contains that code, and `details.reason` contains the
        original code.
        """
        fields = with_remedy(self.to_note())
        shown_as = CATALOGUE[self.code].shown_as
        if shown_as is not None:
            fields |= {"code": shown_as, "details": {"reason": self.code, **fields.get("details", {})}}
        return {"error": fields}

    def to_note(self) -> ErrorNote:
        """Return the error in the form that is stored.

        The stored form keeps the error's own code, even if responses replace the code (`shown_as`).
        """
        return ErrorNote(self.code, self.message, self.details)


def with_remedy(note: ErrorNote) -> dict[str, Any]:
    """Return a stored error as `{code, message, details?}`. If there is a remedy, it is in `details.remedy`.

    A remedy in the error's own details takes precedence over the remedy in CATALOGUE.
    """
    fields: dict[str, Any] = {"code": note.code, "message": note.message}
    remedy = CATALOGUE[note.code].remedy
    details = {**({"remedy": remedy} if remedy else {}), **(note.details or {})}
    if details:
        fields["details"] = details
    return fields


class Invalid(ServiceError):
    """The request is not valid; `issues` lists the problems."""

    def __init__(self, issues: Sequence[Issue], message: str | None = None) -> None:
        super().__init__("invalid_request", message, {"issues": [issue.as_json() for issue in issues]})
        self.issues = tuple(issues)


class Unauthorized(ServiceError):
    """The request has no valid credential."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__("unauthorized", message)


class Forbidden(ServiceError):
    """The credential is valid but does not allow the request: scope_required, session_required, limit_reached…"""


class NotFound(ServiceError):
    """The object does not exist or belongs to another user; the response does not reveal which.

    Pass `message` only for objects that belong to the caller.
    """

    def __init__(self, message: str | None = None) -> None:
        super().__init__("not_found", message)


class Conflict(ServiceError):
    """The current state does not allow the request. Used for every code with status 409 in `CATALOGUE`."""


class Busy(ServiceError):
    """The mailbox of the account's actor is full."""

    def __init__(self, retry_after_s: int = 2) -> None:
        super().__init__("busy", retry_after_s=retry_after_s)


class Stopping(ServiceError):
    """The service is shutting down. Work on the request may already have begun."""

    def __init__(self) -> None:
        super().__init__("busy", "The service is restarting; try again.", retry_after_s=5)


class StoreUnavailable(ServiceError):
    """The store cannot run the transaction now: it is unreachable, full or read-only, or another change conflicts.

    Nothing was changed, unless the message says that the outcome is unknown. The problem is not caused by the account.
    """

    def __init__(
        self, message: str = "The service's store is not responding; try again.", *, retry_after_s: int = 5
    ) -> None:
        super().__init__("busy", message, retry_after_s=retry_after_s)


class EdgeError(ServiceError):
    """A call to Cloudflare failed. `remote_status` and `remote_code` are 0 if there was no response."""

    def __init__(self, code: Code, message: str, *, remote_status: int = 0, remote_code: int = 0) -> None:
        details: dict[str, object] = {}
        if remote_status:
            details["status"] = remote_status
        if remote_code:
            details["edge_code"] = remote_code
        super().__init__(code, message, details or None)
        self.remote_status = remote_status
        self.remote_code = remote_code


class EdgeRefused(EdgeError):
    """Cloudflare refused the call. A retry will also fail.

    `code` is specific if the service knows the reason (permission_error, token_refused, revoked, name_taken,
    cron_limit, route_conflict…), otherwise cloudflare_error.
    """


class EdgeGone(EdgeRefused):
    """The object does not exist, according to the Cloudflare product that owns it."""

    def __init__(self, message: str, *, remote_status: int = 0, remote_code: int = 0) -> None:
        super().__init__("cloudflare_error", message, remote_status=remote_status, remote_code=remote_code)


class EdgeUnavailable(EdgeError):
    """Cloudflare failed, throttled the call or was unreachable. Nothing was changed, or the call can be repeated."""

    def __init__(
        self, message: str, *, remote_status: int = 0, remote_code: int = 0, retry_after_s: int | None = None
    ) -> None:
        super().__init__("cloudflare_unavailable", message, remote_status=remote_status, remote_code=remote_code)
        self.retry_after_s = retry_after_s


class EdgeUnknown(EdgeUnavailable):
    """Cloudflare did not respond to a change, so the change may have happened.

    Check the state at Cloudflare before repeating the change.
    """


class CannotUnseal(ServiceError):
    """No key in the key file decrypts the stored token."""

    def __init__(self) -> None:
        super().__init__("credentials_unreadable")
