"""Every refusal of the service: one tree, one catalogue.

    ServiceError                      an answer: has a code, a status and, where useful, details
      Invalid                         the request itself is wrong
      Unauthorized, Forbidden         the credential
      NotFound
      Conflict                        the state of things does not allow it
      Busy, Stopping                  try again
      StoreUnavailable                the service's own store failed: try again
      EdgeError                       the edge platform
        EdgeRefused                   it refused and will refuse again
        EdgeUnavailable               it failed or was not reached: nothing was done, or it can be repeated
        EdgeUnknown                   no answer: the change may have happened; look it up before repeating
      CannotUnseal                    a sealed token cannot be opened

Anything that is not a ServiceError is a bug: it is logged with its traceback and answered as `internal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Every code there is. The first group may stand at the top of an answer; the second is kept by an account, an
# operation, a site or a link host, and is shown to a request as its entry in CATALOGUE says.
Code = Literal[
    "invalid_request",
    "unauthorized",
    "scope_required",
    "session_required",
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
    # kept
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
    "edge_firewall",
    "cloudflare_error",
]


# What is wrong with a field, for programs. `other`: the message alone tells.
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
    "reserved_code",
    "weak_password",
    "used_token",
    "on_link_host",
    "other",
]


class Issue(NamedTuple):
    """What is wrong with one field. `path`: which, "" is the whole body; `limit`: the number that the message names."""

    path: str
    message: str
    code: IssueCode = "other"
    limit: int | None = None

    def told(self) -> dict[str, str | int]:
        """How a request is told."""
        told: dict[str, str | int] = {"path": self.path, "code": self.code, "message": self.message}
        return told if self.limit is None else {**told, "limit": self.limit}


@dataclass(frozen=True)
class Meaning:
    """What a code says. `remedy`: what a person does about it. `shown_as`: the code that a request gets instead."""

    status: int
    message: str
    remedy: str | None = None
    shown_as: Code | None = None


def _not_ready(message: str, remedy: str) -> Meaning:
    """A trouble of the account, which a request meets as `account_not_ready` with `details.reason`."""
    return Meaning(409, message, remedy, "account_not_ready")


_TRY_AGAIN = "Try again in a minute; a write that carries its Idempotency-Key is never done twice."
_TRY_ANEW = "Try again with a new Idempotency-Key. If the error persists, contact the operator."
_RENEW = "Renew the working token with a new bootstrap token."

# One place for status, message and remedy; docs/api.md is held equal to it by a test.
CATALOGUE: dict[Code, Meaning] = {
    "invalid_request": Meaning(
        400, "The request is not of the form that this endpoint takes; details.issues says where."
    ),
    "unauthorized": Meaning(
        401, "The credential is missing, unknown, expired or revoked.", "Sign in again, or use a valid API key."
    ),
    "scope_required": Meaning(
        403, "The key does not carry the scope that this endpoint needs.", "Make a key with this scope."
    ),
    "session_required": Meaning(403, "This endpoint takes a page session only, no API key.", "Sign in and use that."),
    "email_unconfirmed": Meaning(
        403,
        "The e-mail address must be confirmed first.",
        "Open the link in the confirmation e-mail, or request another.",
    ),
    "invalid_password": Meaning(403, "The password is not right."),
    "cross_origin": Meaning(
        403,
        "A page of another site sent this, which only the service's own pages may.",
        "Use the page at the service's own address, `[http] base_url`. A program sends neither Origin nor"
        " Sec-Fetch-Site.",
    ),
    "limit_reached": Meaning(
        403,
        "A limit of this user or plan is reached.",
        "Delete what is no longer needed, or ask the operator for more.",
    ),
    "not_found": Meaning(404, "There is no such object, or it is not yours."),
    "method_not_allowed": Meaning(405, "The path exists, but not with this method."),
    "idempotency_conflict": Meaning(
        409, "This Idempotency-Key was used with a different body.", "Send the changed request with a new key."
    ),
    "operation_in_progress": Meaning(
        409,
        "Another operation on this edge account is running; retry shortly.",
        "Wait until it has ended, then repeat.",
    ),
    "key_already_issued": Meaning(
        409,
        "This Idempotency-Key issued a key before; its value is shown only once.",
        "Revoke that key and make another with a new Idempotency-Key.",
    ),
    "account_taken": Meaning(
        409, "Another user has connected this edge account.", "Ask that user, or the operator, to release it."
    ),
    "already_connected": Meaning(409, "You have connected this edge account already."),
    "account_not_ready": Meaning(
        409,
        "The account is not in a state that allows this.",
        "Read the account: its `state` and `error` show what is wrong. If it stays `pending`, repeat the connect.",
    ),
    "site_exists": Meaning(409, "The account has a site with this host."),
    "site_on_link_host": Meaning(
        409,
        "The host is the account's link host, which shows nothing but links: there are no pages to count.",
        "Choose the host that your pages are on; or set another link host first.",
    ),
    "link_exists": Meaning(409, "The account has a link with this code.", "Choose another code."),
    "link_host_required": Meaning(
        409, "The account needs a link host first.", "Set one: PUT /v1/accounts/{id}/link-host."
    ),
    "link_host_is_website": Meaning(
        409,
        "The host serves a website, which is unreachable while it is the link host; details.why gives the evidence.",
        "Choose a host that nothing else uses, e.g. go.example.com with the record AAAA 100::, proxied. To use this"
        " host anyway, send `replace_website: true`; a host that is counted as a site (details.why is `site`) must be"
        " deleted as a site first.",
    ),
    "link_host_without_certificate": Meaning(
        409,
        "The host lies more than one label below its zone, where the free certificate does not cover it.",
        "Choose a host right below the zone, e.g. go.example.com; or order a certificate for this one at the edge"
        " platform and send `has_certificate: true`.",
    ),
    "route_conflict": Meaning(
        409,
        "Another worker holds the route.",
        "Remove the other route in the edge platform's dashboard; the service then makes its own by itself.",
    ),
    "site_not_active": Meaning(409, "The site is deleted."),
    "route_not_ours": Meaning(
        409,
        "A route of the site was changed outside the service, and is left in place.",
        "Delete it in the edge platform's dashboard if nothing needs it.",
    ),
    "payload_too_large": Meaning(413, "The body is larger than the service takes."),
    "invalid_bootstrap": Meaning(
        422,
        "The edge platform does not accept the bootstrap token for this account.",
        "Check the account id, and make a new bootstrap token of this account: details.token_page is the page for it.",
    ),
    "bootstrap_permission_error": Meaning(
        422,
        "The bootstrap token lacks a right; details.missing names it.",
        "Make a bootstrap token with Account Settings: Read and Account API Tokens: Edit; where details.missing names"
        " more rights, with these, too. details.token_page is the page for it, filled in.",
    ),
    "zone_not_found": Meaning(
        422,
        "The host is in no zone of the account.",
        "Add the domain to the account as a zone, or choose a host in one of its zones.",
    ),
    "zone_not_active": Meaning(
        422,
        "The zone of the host is not active; details.status gives its status.",
        "Set the domain's name servers to those that the edge platform's dashboard shows for the zone; resume a zone"
        " that is paused.",
    ),
    "dns_not_proxied": Meaning(
        422,
        "The host has no proxied DNS record; details.record gives the record that it needs.",
        "Create the record in the edge platform's dashboard, or turn on the proxy (the orange cloud) of the existing"
        " one.",
    ),
    "rate_limited": Meaning(429, "Too many requests; Retry-After says when to come back."),
    "internal": Meaning(
        500, "The service failed; details.id finds the line in its log.", "Tell the operator, with this id."
    ),
    "permission_catalog": Meaning(
        502,
        "The edge platform's list of rights lacks one that is needed.",
        "Tell the operator: the service needs an update.",
    ),
    "token_rights_mismatch": Meaning(
        502,
        "The edge platform made the working token with other rights than asked.",
        _TRY_ANEW,
    ),
    "token_check_failed": Meaning(502, "The working token does not work.", _TRY_ANEW),
    "orphan_not_deleted": Meaning(
        502,
        "A token of an earlier lost connect or renewal could not be deleted.",
        "Delete the tokens that details.revoke_tokens names in the edge platform's dashboard, then try again.",
    ),
    "renew_lost": Meaning(
        502,
        "The outcome of the renewal is unknown; details.revoke_token names the token to revoke.",
        "Revoke the named token in the edge platform's dashboard, then renew again.",
    ),
    "cloudflare_unavailable": Meaning(503, "The edge platform failed or could not be reached; try again.", _TRY_AGAIN),
    "service_full": Meaning(503, "The service takes no more accounts.", "Ask the operator."),
    "not_configured": Meaning(503, "The operator has not configured this part of the service.", "Ask the operator."),
    "busy": Meaning(503, "The service cannot take this now; Retry-After says when to come back."),
    "revoked": _not_ready("The working token is gone, disabled or expired.", _RENEW),
    "token_refused": _not_ready(
        "The edge platform refuses the working token.",
        "Wait: the service asks again every ten minutes, and goes on by itself once the token is accepted. If the token"
        " was deleted, renew it with a new bootstrap token; after an hour of refusals the account is `revoked`.",
    ),
    "permission_error": _not_ready(
        "The working token lacks a right that it was made with.",
        "Give the token its rights back in the edge platform's dashboard, or renew it with a new bootstrap token.",
    ),
    "resource_drift": _not_ready(
        "What the service installed was changed or deleted outside the service.",
        "Install the worker again: POST /v1/accounts/{id}/install; a changed worker has to be deleted in the edge"
        " platform's dashboard first.",
    ),
    "credentials_missing": _not_ready("The account has no working token.", _RENEW),
    "credentials_unreadable": _not_ready(
        "The stored token cannot be opened with the service's key file.",
        "Ask the operator to put the right key file back, or renew the working token with a new bootstrap token.",
    ),
    "bootstrap_lost": _not_ready(
        "The connect was cut short.",
        "Delete the tokens that details.revoke_tokens names in the edge platform's dashboard, if they are there, and"
        " connect again.",
    ),
    "name_taken": _not_ready(
        "The account has a worker or a database of the service's name that the service did not make.",
        "Rename or delete the other one in the edge platform's dashboard, then install the worker again.",
    ),
    "schema_newer": _not_ready(
        "The worker's database was made by a newer version of this service; nothing was changed.",
        "Ask the operator to run a version of the service that knows the schema of details.schema; the worker that is"
        " installed goes on to count.",
    ),
    "cron_limit": _not_ready(
        "The account has no cron trigger left.",
        "Delete a cron trigger of another worker, then install the worker again.",
    ),
    "subdomain_required": _not_ready(
        "The account has no name on workers.dev, and could not be given one.",
        "Open Workers in the edge platform's dashboard and choose a workers.dev name, then install the worker again.",
    ),
    "self_check_timeout": _not_ready(
        "The worker did not report itself on its first cron.",
        "Wait: the edge platform can take 15 minutes to start a new cron trigger, and the first report clears the"
        " warning. If it stays for half an hour, install the worker again: POST /v1/accounts/{id}/install.",
    ),
    "worker_silent": _not_ready(
        "The worker has not reported itself for hours.",
        "Install the worker again: POST /v1/accounts/{id}/install. If it stays silent, tell the operator: the edge"
        " platform may not reach the service's address.",
    ),
    "edge_firewall": Meaning(
        503,
        "The firewall before the edge platform's API took what was sent for an attack.",
        "Choose another address, or path, that does not look like an attack; if nothing of it is yours, tell the"
        " operator `details.ray_id`, by which the edge platform's support finds the refusal.",
        "cloudflare_unavailable",
    ),
    "cloudflare_error": Meaning(
        503,
        "The edge platform refused the call.",
        "Try again in a minute, after a failed install by installing the worker again; where the message names a limit"
        " of today, after midnight UTC. A write that carries its Idempotency-Key is never done twice.",
        "cloudflare_unavailable",
    ),
}


@dataclass(frozen=True)
class ErrorNote:
    """What an account, an operation, a site or a link host keeps of a refusal. `details` is JSON."""

    code: Code
    message: str
    details: dict[str, object] | None = None


class ServiceError(Exception):
    """A refusal. `code` is stable and for programs, `message` is for people, `details` is JSON.

    `status` is that of the answer to a request which it ends. `had_effect`: the refusal is final, and the request
    changed something before, so its repeat must not run again (see `svc.http.serving.idempotency`).
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
        """How a request is told: `{error: {code, message, details?}}`, with the remedy among the details.

        A code that is only kept is shown as the one that the catalogue names; `details.reason` has the kept one.
        """
        shown = with_remedy(self.note())
        shown_as = CATALOGUE[self.code].shown_as
        if shown_as is not None:
            shown |= {"code": shown_as, "details": {"reason": self.code, **shown.get("details", {})}}
        return {"error": shown}

    def note(self) -> ErrorNote:
        """What is kept of it, under its own code."""
        return ErrorNote(self.code, self.message, self.details)


def with_remedy(note: ErrorNote) -> dict[str, Any]:
    """How a note is shown: `{code, message, details?}`, with `details.remedy` where a person can do something.

    A remedy among the note's own details takes precedence over that of the catalogue.
    """
    shown: dict[str, Any] = {"code": note.code, "message": note.message}
    remedy = CATALOGUE[note.code].remedy
    details = {**({"remedy": remedy} if remedy else {}), **(note.details or {})}
    if details:
        shown["details"] = details
    return shown


class Invalid(ServiceError):
    """The request is not of the right form; `issues` say where."""

    def __init__(self, issues: Sequence[Issue], message: str | None = None) -> None:
        super().__init__("invalid_request", message, {"issues": [issue.told() for issue in issues]})
        self.issues = tuple(issues)


class Unauthorized(ServiceError):
    """No valid credential."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__("unauthorized", message)


class Forbidden(ServiceError):
    """The credential is valid and does not allow this: scope_required, session_required, limit_reached…"""


class NotFound(ServiceError):
    """No such object, or another user's: the two are never told apart. `message`: more of one's own object."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__("not_found", message)


class Conflict(ServiceError):
    """The state of things does not allow it: any 409 of the catalogue."""


class Busy(ServiceError):
    """Too much is waiting: the mailbox of the account is full."""

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
    """The platform said no and will say no again. `code` names the refusal where the service knows it:
    permission_error, token_refused, revoked, name_taken, cron_limit, route_conflict, cloudflare_error…"""


class EdgeGone(EdgeRefused):
    """What was asked for is not there, as the product itself says."""

    def __init__(self, message: str, *, remote_status: int = 0, remote_code: int = 0) -> None:
        super().__init__("cloudflare_error", message, remote_status=remote_status, remote_code=remote_code)


class EdgeUnavailable(EdgeError):
    """The platform failed, throttled or was not reached; nothing was changed, or the call can be repeated."""

    def __init__(
        self, message: str, *, remote_status: int = 0, remote_code: int = 0, retry_after_s: int | None = None
    ) -> None:
        super().__init__("cloudflare_unavailable", message, remote_status=remote_status, remote_code=remote_code)
        self.retry_after_s = retry_after_s


class EdgeUnknown(EdgeUnavailable):
    """A change was sent and no answer came: it may have happened. Look it up before repeating it."""


class CannotUnseal(ServiceError):
    """A sealed token cannot be opened with any key of the key file."""

    def __init__(self) -> None:
        super().__init__("credentials_unreadable")
