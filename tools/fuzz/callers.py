"""Who asks while the contract is fuzzed: one of every kind of credential, and what the table says of each.

Used in the process of schemathesis, one case after the other. A credential that its own request has ended is made anew,
and what every case needs (the account, its site and link, the keys) is deleted by none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, get_args

import httpx

from svc.ids import new_id
from svc.model import Scope
from tests.http.who_may import ALIKE, ALSO, CODES, ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code

PASSWORD = "a long password of everybody"
# No credentials, or none any more, or none here: a key that is accepted from another address, a cookie of /auth, the
# key of a worker.
_NONE = ("nobody", "bad", "bad key", "signed out", "revoked", "elsewhere", "cookie", "worker")
# The session and the key with all scopes are drawn more often: what they may is most.
KINDS = ("session",) * 4 + ("key",) * 2 + ("limited", "stranger", "unconfirmed", *get_args(Scope), *_NONE)
WITH_KEY = frozenset({"key", "limited", "elsewhere", "revoked", "bad key", *get_args(Scope)})
# What has a credential of its own: it is drawn as often as all others.
_OWN = {"POST /edge/push": "worker", "POST /auth/refresh": "cookie", "POST /auth/sign-out": "cookie"}

# Refusals for the credential alone, before anything else is looked at.
_AT_ONCE: frozenset[Code] = frozenset({"unauthorized", "session_required", "scope_required"})
# Refusals of what is wrong with a request itself, before its object is looked for.
_EARLIER: frozenset[Code] = frozenset({"invalid_request", "payload_too_large", "idempotency_conflict"})

# What may end the session that asks.
_ENDS = ("POST /auth/sign-out", "DELETE /v1/me/sessions", "DELETE /v1/me/sessions/{session_id}")
# What a request makes, and where its answer has it.
_MAKES = {
    "POST /v1/accounts": ("account_id", "account"),
    "POST /v1/sites": ("site_id", "site"),
    "POST /v1/links": ("link_id", "link"),
    "POST /v1/keys": ("key_id", None),
}


def kinds_of(endpoint: str) -> tuple[str, ...]:
    """The kinds that are drawn for an endpoint ("GET /v1/me"), the usual ones more than once."""
    return KINDS + (_OWN[endpoint],) * len(KINDS) if endpoint in _OWN else KINDS


def refusal_of(kind: str, endpoint: str) -> Code | None:
    """What the table has an endpoint ("GET /v1/me") refuse this kind with, about what is the user's; None: it may."""
    if endpoint in ALIKE:
        return CODES["401"] if endpoint == "POST /edge/push" and kind != "worker" else None
    row = ROWS[endpoint]
    if kind in _NONE:
        return CODES["401"]
    if kind == "unconfirmed":  # of another user than whose things are asked for
        return CODES.get("email" if row.unconfirmed == "email" else row.stranger)
    if kind in get_args(Scope):
        kind = "key" if kind in row.scopes else "without"
    return CODES.get(getattr(row, kind))


class Callers:
    """The people of the world that `fuzz_contract` has made; `world`: what it tells of them."""

    def __init__(self, world: Mapping[str, Any]) -> None:
        self.known: dict[str, str] = world["known"]  # the user's things, by the name of the field or parameter
        self._credentials: dict[str, dict[str, str]] = world["credentials"]  # headers by kind
        self._emails: dict[str, str] = world["emails"]  # by kind
        self.zone: str = world["zone"]  # of the account that is known
        self.leaving = {"password": PASSWORD}  # the body with which a user goes
        self.connected = {"edge_account_id": self.known.get("edge_account_id")}
        self._kept = {value for name, value in self.known.items() if name.endswith("_id")} | set(world["kept"])
        self._mine = set(self._kept)  # ids of everything that the user had
        self._spare: dict[str, list[str]] = defaultdict(list)  # of those the ones that may be deleted
        self._control: str = world["control"]
        self._client = httpx.Client(base_url=world["url"], timeout=60, trust_env=False)
        self._guests = 0

    def headers(self, kind: str) -> dict[str, str]:
        """The headers of this kind of credential, as of now."""
        return self._credentials[kind]

    def deletable(self, kind: str, name: str, value: Any) -> Any:
        """The id `value`, or where that must not be deleted another one, of something that may."""
        if value not in self._kept:
            return value
        if name == "session_id" and kind == "session" and not self._spare[name]:
            self._spare[name].append(self._new_session(kind))
        return self._spare[name][-1] if self._spare[name] else new_id(value.partition("_")[0])

    def signs_up_again(self, body: Mapping[str, Any]) -> bool:
        """Whether a sign-up is for the address that was never confirmed: its user's password and sessions would go."""
        return str(body.get("email")).lower() == self._emails["unconfirmed"]

    def guest(self) -> dict[str, str]:
        """The headers of a user who has just signed up, and may be deleted."""
        self._guests += 1
        body = {"email": f"guest{self._guests}@example.com", "password": PASSWORD}
        self._client.post("/auth/sign-up", json=body).raise_for_status()
        return self._signed_in(body["email"])["session"]

    def customer(self) -> dict[str, str]:
        """An edge account that nobody has connected, and a bootstrap token of it."""
        made = (
            self._client.post(f"{self._control}/accounts", json={"zones": [], "limits": {}}).raise_for_status().json()
        )
        return {"edge_account_id": made["account_id"], "bootstrap_token": made["bootstrap_token"]}

    def bootstrap_token(self) -> str:
        """A new bootstrap token of the known account."""
        path = f"{self._control}/accounts/{self.known['edge_account_id']}/tokens"
        return str(self._client.post(path, json={}).raise_for_status().json()["bootstrap_token"])

    def answered(self, kind: str, endpoint: str, ids: Mapping[str, Any], sent: Any, answer: Any) -> None:
        """Take note of what a request that was carried out has made or ended; `ids`: those in its path."""
        for name, value in ids.items():
            if endpoint.startswith("DELETE ") and value in self._spare[name]:
                self._spare[name].remove(value)
        if endpoint == "POST /v1/me/password":
            back = {"old": sent["new"], "new": PASSWORD}
            self._client.post("/v1/me/password", json=back, headers=self.headers(kind)).raise_for_status()
        if kind in self._emails and (endpoint in _ENDS or endpoint == "POST /auth/refresh"):
            self._credentials[kind] = self._signed_in(self._emails[kind])["cookie" if kind == "cookie" else "session"]
        if endpoint in _MAKES and kind not in ("stranger", "unconfirmed"):
            name, member = _MAKES[endpoint]
            made = (answer.json()[member] if member else answer.json())["id"]
            self._spare[name].append(made)
            self._mine.add(made)

    def fault(self, kind: str, endpoint: str, code: str | None, asked: str) -> str | None:
        """What of an answer is not as the table says; None: all is.

        `code`: of its refusal; None: it is none. `asked`: the request's path, query and body.
        """
        refusal = refusal_of(kind, endpoint)
        if refusal in _AT_ONCE:
            return None if code == refusal else f"{kind} gets {code or 'an answer'}, not {refusal}"
        query, scope = ALSO.get(endpoint, ("", ""))
        if query and query in asked and kind in get_args(Scope) and kind != scope:
            return None if code in {"scope_required", *_EARLIER} else f"{kind} gets {code or 'an answer'} of {query}"
        if code in _AT_ONCE and endpoint not in ALIKE:
            return f"{kind} may, and gets {code}"
        of_others = kind == "limited" or refusal == CODES["email"] or any(one in asked for one in self._mine)
        if refusal is not None and of_others and code not in {refusal, *_EARLIER}:
            return f"{kind} gets {code or 'an answer'}, not {refusal}"
        return None

    def _new_session(self, kind: str) -> str:
        """The id of another session of this user."""
        headers = self._signed_in(self._emails[kind])["session"]
        sessions = self._client.get("/v1/me/sessions", headers=headers).raise_for_status().json()["sessions"]
        return str(next(session["id"] for session in sessions if session["current"]))

    def _signed_in(self, email: str) -> dict[str, dict[str, str]]:
        answer = self._client.post("/auth/sign-in", json={"email": email, "password": PASSWORD}).raise_for_status()
        self._client.cookies.clear()
        cookie = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
        return {"session": {"Authorization": f"Bearer {answer.json()['access_token']}"}, "cookie": {"Cookie": cookie}}
