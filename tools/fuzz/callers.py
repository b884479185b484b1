"""The contract fuzzer's callers: one for each kind of credential, with the errors that the permission table expects.

The process of schemathesis uses the callers, one case at a time. If a request revokes the caller's credential, the
credential is replaced. Resources that every case needs (the account, its site and link, the keys) are never deleted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, get_args

import httpx

from svc.ids import new_id
from svc.model import Scope
from tests.http.who_may import ALIKE, ALSO, CODES, OF_TARGET, ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code

PASSWORD = "a long password of everybody"
# Callers without a valid credential for the API. They have no credential, an invalid or revoked credential, a key that
# is restricted to another address, a cookie for /auth, or a Worker's key.
_NONE = ("anonymous", "bad", "bad key", "signed out", "revoked", "elsewhere", "cookie", "worker")
# The session and the key with all scopes are drawn more often, because they have the most permissions.
KINDS = ("session",) * 4 + ("key",) * 2 + ("limited", "stranger", "unconfirmed", *get_args(Scope), *_NONE)
WITH_KEY = frozenset({"key", "limited", "elsewhere", "revoked", "bad key", *get_args(Scope)})
# Endpoints that need a special credential. This credential is drawn as often as all others together.
_OWN = {"POST /edge/push": "worker", "POST /auth/refresh": "cookie", "POST /auth/sign-out": "cookie"}

# Errors that depend only on the credential. The service detects them before all others.
_CREDENTIAL_ERRORS: frozenset[Code] = frozenset({"unauthorized", "session_required", "scope_required"})
# Errors in the request. The service detects them before it reads the requested object.
_REQUEST_ERRORS: frozenset[Code] = frozenset({"invalid_request", "payload_too_large", "idempotency_conflict"})

# Endpoints that can end the caller's session.
_ENDS = ("POST /auth/sign-out", "DELETE /v1/me/sessions", "DELETE /v1/me/sessions/{session_id}")
# The resource that a request creates, and the field that contains it in the response.
_CREATES = {
    "POST /v1/accounts": ("account_id", "account"),
    "POST /v1/sites": ("site_id", "site"),
    "POST /v1/links": ("link_id", "link"),
    "POST /v1/notes": ("note_id", "note"),
    "POST /v1/sites/{site_id}/shares": ("share_id", "share"),
    "POST /v1/keys": ("key_id", None),
}


def kinds_of(endpoint: str) -> tuple[str, ...]:
    """Return the kinds of callers to draw from for an endpoint (such as "GET /v1/me"). Frequent kinds are repeated."""
    return KINDS + (_OWN[endpoint],) * len(KINDS) if endpoint in _OWN else KINDS


def refusal_of(kind: str, endpoint: str) -> Code | None:
    """Return the error code that `tests.http.who_may` expects if this caller requests the user's resources, or None.

    `endpoint`: method and path, such as "GET /v1/me".
    """
    if endpoint in ALIKE:
        return CODES["401"] if endpoint == "POST /edge/push" and kind != "worker" else None
    row = ROWS[endpoint]
    if kind in _NONE:
        return CODES["401"]
    if kind == "unconfirmed":  # the caller does not own the requested resources
        return CODES.get("email" if row.unconfirmed == "email" else row.stranger)
    if kind in get_args(Scope):
        kind = "key" if kind in row.scopes and not row.needs_all_scopes else "without"
    return CODES.get(getattr(row, kind))


class Callers:
    """The users that `tools.fuzz.contract` created. `world`: the description of these users."""

    def __init__(self, world: Mapping[str, Any]) -> None:
        self.known: dict[str, str] = world["known"]  # the user's resources, by field or parameter name
        self._credentials: dict[str, dict[str, str]] = world["credentials"]  # headers by kind
        self._emails: dict[str, str] = world["emails"]  # by kind
        self.zone: str = world["zone"]  # the known account's zone
        self.leaving = {"password": PASSWORD}  # the body that deletes a user
        self.connected = {"edge_account_id": self.known.get("edge_account_id")}
        self._kept = {value for name, value in self.known.items() if name.endswith("_id")} | set(world["kept"])
        self._mine = set(self._kept)  # ids of all resources that the user has had so far
        self._spare: dict[str, list[str]] = defaultdict(list)  # the resources that can be deleted
        self._control: str = world["control"]
        self._client = httpx.Client(base_url=world["url"], timeout=60, trust_env=False)
        self._guests = 0

    def headers(self, kind: str) -> dict[str, str]:
        """Return the current headers for this kind of credential."""
        return self._credentials[kind]

    def deletable(self, kind: str, name: str, value: Any) -> Any:
        """Return the id `value` or, if the resource with this id must not be deleted, the id of another resource."""
        if value not in self._kept:
            return value
        if name == "session_id" and kind == "session" and not self._spare[name]:
            self._spare[name].append(self._new_session(kind))
        return self._spare[name][-1] if self._spare[name] else new_id(value.partition("_")[0])

    def signs_up_again(self, body: Mapping[str, Any]) -> bool:
        """Return True if a sign-up has the address of the unconfirmed user, whose password it would replace."""
        return str(body.get("email")).lower() == self._emails["unconfirmed"]

    def guest(self) -> dict[str, str]:
        """Create a user who can be deleted, and return the user's headers."""
        self._guests += 1
        body = {"email": f"guest{self._guests}@example.com", "password": PASSWORD}
        self._client.post("/auth/sign-up", json=body).raise_for_status()
        return self._signed_in(body["email"])["session"]

    def customer(self) -> dict[str, str]:
        """Create a Cloudflare account that is not connected. Return it with a bootstrap token."""
        made = (
            self._client.post(f"{self._control}/accounts", json={"zones": [], "limits": {}}).raise_for_status().json()
        )
        return {"edge_account_id": made["account_id"], "bootstrap_token": made["bootstrap_token"]}

    def bootstrap_token(self) -> str:
        """Create a bootstrap token for the known account and return it."""
        path = f"{self._control}/accounts/{self.known['edge_account_id']}/tokens"
        return str(self._client.post(path, json={}).raise_for_status().json()["bootstrap_token"])

    def answered(self, kind: str, endpoint: str, ids: Mapping[str, Any], sent: Any, response: Any) -> None:
        """Record the resources that a successful request created or deleted. `ids`: the ids in the request's path.

        If the request changed the password, change it back. If the request ended the session, sign in again.
        """
        for name, value in ids.items():
            if endpoint.startswith("DELETE ") and value in self._spare[name]:
                self._spare[name].remove(value)
        if endpoint == "POST /v1/me/password":
            back = {"old": sent["new"], "new": PASSWORD}
            self._client.post("/v1/me/password", json=back, headers=self.headers(kind)).raise_for_status()
        if kind in self._emails and (endpoint in _ENDS or endpoint == "POST /auth/refresh"):
            self._credentials[kind] = self._signed_in(self._emails[kind])["cookie" if kind == "cookie" else "session"]
        if endpoint in _CREATES and kind not in ("stranger", "unconfirmed"):
            name, member = _CREATES[endpoint]
            made = (response.json()[member] if member else response.json())["id"]
            self._spare[name].append(made)
            self._mine.add(made)

    def fault(self, kind: str, endpoint: str, code: str | None, asked: str) -> str | None:
        """Return a description of how a response deviates from the permission table, or None.

        `code`: the response's error code, or None. `asked`: the request's path, query and body.
        """
        refusal = refusal_of(kind, endpoint)
        if endpoint in OF_TARGET and kind in get_args(Scope) and kind != "reports":
            return None  # tests/http/resources/test_notes.py checks these scopes
        if refusal in _CREDENTIAL_ERRORS:
            return None if code == refusal else f"{kind} gets {code or 'a response'}, not {refusal}"
        query, scope = ALSO.get(endpoint, ("", ""))
        if query and query in asked and kind in get_args(Scope) and kind != scope:
            allowed = {"scope_required", *_REQUEST_ERRORS}
            return None if code in allowed else f"{kind} gets {code or 'a response'} of {query}"
        if code in _CREDENTIAL_ERRORS and endpoint not in ALIKE:
            return f"{kind} may, and gets {code}"
        of_others = kind == "limited" or refusal == CODES["email"] or any(one in asked for one in self._mine)
        if refusal is not None and of_others and code not in {refusal, *_REQUEST_ERRORS}:
            return f"{kind} gets {code or 'a response'}, not {refusal}"
        return None

    def _new_session(self, kind: str) -> str:
        """Create another session for this user and return its id."""
        headers = self._signed_in(self._emails[kind])["session"]
        sessions = self._client.get("/v1/me/sessions", headers=headers).raise_for_status().json()["sessions"]
        return str(next(session["id"] for session in sessions if session["current"]))

    def _signed_in(self, email: str) -> dict[str, dict[str, str]]:
        response = self._client.post("/auth/sign-in", json={"email": email, "password": PASSWORD}).raise_for_status()
        self._client.cookies.clear()
        cookie = "; ".join(f"{name}={value}" for name, value in response.cookies.items())
        return {"session": {"Authorization": f"Bearer {response.json()['access_token']}"}, "cookie": {"Cookie": cookie}}
