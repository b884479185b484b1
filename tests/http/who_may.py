"""The permission table: each endpoint's expected response to each kind of credential.

`test_who_may` checks all cells of the table. The contract fuzzer checks every response against the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, get_args

from svc.model import Scope

if TYPE_CHECKING:
    from svc.errors import Code

# `needs`: a key needs at least one of these scopes (with `+`, all of them; `all`: every scope; `-`: none; `session`:
# keys are rejected). The other columns contain the response to a sign-in session, a key with the scopes, a key with all
# other scopes, a key limited to another account, another user, and a user with an unconfirmed address. Endpoints that
# delete the user or end the session come last, because later requests would fail.
TABLE = """
                                           needs          | session key without limited stranger unconfirmed
GET    /v1/me                              -              | 200     200 200     200     200      200
PATCH  /v1/me                              session        | 200     session session session 200      200
GET    /v1/me/address                      -              | 200     200 200     200     200      200
POST   /v1/me/password                     session        | 200     session session session 200      200
GET    /v1/me/email                        session        | 200     session session session 200      200
POST   /v1/me/email                        session        | 202     session session session 202      email
DELETE /v1/me/email                        session        | 200     session session session 200      200
GET    /v1/me/sessions                     session        | 200     session session session 200      200
DELETE /v1/me/sessions                     session        | 200     session session session 200      200
DELETE /v1/me/sessions/{session_id}        session        | 200     session session session 404      200
GET    /v1/events                          accounts       | 200     200 scope   200     200      200
GET    /v1/keys                            session        | 200     session session session 200      200
POST   /v1/keys                            session        | 201     session session session 201      201
PATCH  /v1/keys/{key_id}                   session        | 200     session session session 404      200
DELETE /v1/keys/{key_id}                   session        | 200     session session session 404      200
GET    /v1/accounts                        accounts,sites | 200     200 scope   200     200      200
POST   /v1/accounts                        accounts       | 202     202 scope   404     202      email
GET    /v1/accounts/{account_id}           accounts,sites | 200     200 scope   404     404      200
PATCH  /v1/accounts/{account_id}           accounts       | 200     200 scope   404     404      200
GET    /v1/accounts/{account_id}/zones     accounts,sites | 200     200 scope   404     404      200
GET    /v1/accounts/{account_id}/ledger    reports        | 200     200 scope   404     404      200
POST   /v1/accounts/{account_id}/token     accounts       | 200     200 scope   404     404      200
POST   /v1/accounts/{account_id}/install   accounts       | 202     202 scope   404     404      202
POST   /v1/accounts/{account_id}/check     accounts       | 200     200 scope   404     404      200
DELETE /v1/accounts/{account_id}           accounts       | 200     200 scope   404     404      200
PUT    /v1/accounts/{account_id}/link-host sites          | 202     202 scope   404     404      202
PATCH  /v1/accounts/{account_id}/link-host sites          | 200     200 scope   404     404      200
GET    /v1/accounts/{account_id}/link-host/usage reports  | 200     200 scope   404     404      200
GET    /v1/sites                           sites          | 200     200 scope   200     200      200
POST   /v1/sites                           sites          | 202     202 scope   404     404      202
GET    /v1/sites/{site_id}                 sites          | 200     200 scope   404     404      200
PATCH  /v1/sites/{site_id}                 sites          | 200     200 scope   404     404      200
DELETE /v1/sites/{site_id}                 sites          | 200     200 scope   404     404      200
POST   /v1/sites/{site_id}/rotate          sites          | 200     200 scope   404     404      200
GET    /v1/sites/{site_id}/report          reports        | 200     200 scope   404     404      200
GET    /v1/sites/{site_id}/first-view      reports        | 200     200 scope   404     404      200
GET    /v1/sites/{site_id}/totals          reports        | 200     200 scope   404     404      200
POST   /v1/sites/{site_id}/totals          sites          | 200     200 scope   404     404      200
GET    /v1/sites/{site_id}/mailings        sites          | 200     200 scope   404     404      200
PUT    /v1/sites/{site_id}/mailings        sites          | 200     scope scope 404     404      200
GET    /v1/accounts/{account_id}/mailings  accounts       | 200     200 scope   404     404      200
PUT    /v1/accounts/{account_id}/mailings  accounts       | 200     scope scope 404     404      200
GET    /v1/links                           links          | 200     200 scope   200     200      200
POST   /v1/links                           links          | 201     201 scope   404     404      201
POST   /v1/links/bulk                      links          | 200     200 scope   404     404      200
PATCH  /v1/links/bulk                      links          | 200     200 scope   200     200      200
DELETE /v1/links/bulk                      links          | 200     200 scope   200     200      200
GET    /v1/tags                            links          | 200     200 scope   200     200      200
GET    /v1/tags/{tag}/report               reports        | 200     200 scope   404     404      200
GET    /v1/links/{link_id}                 links          | 200     200 scope   404     404      200
PATCH  /v1/links/{link_id}                 links          | 200     200 scope   404     404      200
DELETE /v1/links/{link_id}                 links          | 200     200 scope   404     404      200
POST   /v1/links/title                     links          | 200     200 scope   200     200      200
POST   /v1/links/{link_id}/restore         links          | 200     200 scope   404     404      200
GET    /v1/links/{link_id}/qr.svg          links          | 200     200 scope   404     404      200
GET    /v1/links/{link_id}/qr.png          links          | 200     200 scope   404     404      200
GET    /v1/links/qr.zip                    links          | 200     200 scope   404     404      200
GET    /v1/links/qr.html                   links          | 200     200 scope   404     404      200
POST   /v1/links/{link_id}/explain         links          | 200     200 scope   404     404      200
GET    /v1/links/{link_id}/report          reports        | 200     200 scope   404     404      200
GET    /v1/links/{link_id}/totals          reports        | 200     200 scope   404     404      200
GET    /v1/notes                           reports        | 200     200 scope   404     404      200
POST   /v1/notes                           sites          | 201     201 scope   404     404      201
PATCH  /v1/notes/{note_id}                 sites          | 200     200 scope   404     404      200
DELETE /v1/notes/{note_id}                 sites          | 200     200 scope   404     404      200
GET    /v1/sites/{site_id}/shares          reports        | 200     200 scope   404     404      200
POST   /v1/sites/{site_id}/shares          sites          | 201     scope scope 404     404      201
GET    /v1/links/{link_id}/shares          reports        | 200     200 scope   404     404      200
POST   /v1/links/{link_id}/shares          links          | 201     scope scope 404     404      201
GET    /v1/accounts/{account_id}/shares    reports        | 200     200 scope   404     404      200
POST   /v1/accounts/{account_id}/shares    sites+links    | 201     scope scope 404     404      201
PATCH  /v1/shares/{share_id}               sites          | 200     scope scope 404     404      200
DELETE /v1/shares/{share_id}               sites          | 200     200 scope   404     404      200
POST   /v1/links/{link_id}/totals          links          | 200     200 scope   404     404      200
GET    /v1/overview                        reports        | 200     200 scope   200     200      200
GET    /v1/export                          all            | 200     200 scope   scope   200      200
DELETE /v1/me                              session        | 200     session session session 200      200
"""
# The additional scope that a request needs if its path, query or body contains this text. Email reports, shares and
# lists that are sorted by clicks need the `reports` scope, because they reveal counts.
ALSO: dict[str, tuple[str, Scope]] = {
    "GET /v1/links": ("order=clicks", "reports"),
    "PUT /v1/sites/{site_id}/mailings": ("mailings", "reports"),
    "PUT /v1/accounts/{account_id}/mailings": ("mailings", "reports"),
    "POST /v1/sites/{site_id}/shares": ("shares", "reports"),
    "POST /v1/links/{link_id}/shares": ("shares", "reports"),
    "POST /v1/accounts/{account_id}/shares": ("shares", "reports"),
}
# The necessary scope depends on the target of the note or share. The table has the scope for a site.
OF_TARGET = (
    "POST /v1/notes",
    "PATCH /v1/notes/{note_id}",
    "DELETE /v1/notes/{note_id}",
    "PATCH /v1/shares/{share_id}",
    "DELETE /v1/shares/{share_id}",
)
# Endpoints that ignore the credentials of /v1. They need no credential, or a different kind.
OPEN = """
GET    /auth/settings                200
POST   /auth/email/confirm           400
POST   /auth/email/revert            400
POST   /auth/sign-up                 202
POST   /auth/invitation              closed
POST   /auth/confirm                 400
POST   /auth/confirm/resend          202
POST   /auth/sign-in                 401
POST   /auth/refresh                 401
POST   /auth/sign-out                200
POST   /auth/password-reset          202
POST   /auth/password-reset/confirm  400
GET    /m/{token}                    404
POST   /m/{token}/confirm            404
POST   /m/{token}/unsubscribe        404
POST   /edge/push                    401
GET    /healthz                      200
GET    /readyz                       200
GET    /openapi.json                 200
GET    /openapi.yaml                 200
GET    /reference.md                 200
GET    /reference                    200
GET    /.well-known/security.txt     404
GET    /s/{secret}                   404
GET    /s/{secret}/report            200
POST   /s/{secret}/report            200
GET    /s/{secret}/sites/{site_id}   404
GET    /s/{secret}/sites/{site_id}/report 404
GET    /s/{secret}/badge.svg         200
"""


class Wanted(NamedTuple):
    """A row of the permission table: the expected status or code by column."""

    needs: str
    session: str
    key: str
    without: str
    limited: str
    stranger: str
    unconfirmed: str

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes of which a key needs at least one. If empty, the endpoint accepts all keys or rejects all keys."""
        return tuple(scope for scope in get_args(Scope) if scope in self.needs.replace("+", ",").split(","))

    @property
    def needs_all_scopes(self) -> bool:
        """True if a key needs all of `scopes`."""
        return "+" in self.needs


CODES: dict[str, Code] = {
    "scope": "scope_required", "session": "session_required", "404": "not_found", "email": "email_unconfirmed",
    "401": "unauthorized", "400": "invalid_request", "closed": "sign_up_closed",
}  # fmt: skip
ROWS = {
    " ".join(words[:2]): Wanted(*words[2:])
    for line in TABLE.strip().splitlines()[1:]
    if (words := line.replace("|", "").split())
}
ALIKE = {" ".join(words[:2]): words[2] for line in OPEN.strip().splitlines() if (words := line.split())}
