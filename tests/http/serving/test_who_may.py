"""Each endpoint responds to each kind of credential as the permission table says, and the table is complete."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from svc.api.contract import ENDPOINTS
from svc.errors import CATALOGUE
from svc.ids import digest, new_id, new_secret
from svc.security.passwords import hash_password
from svc.store import keys, links, notes, sessions, shares, sites, users
from svc.store.tx import sql
from tests.http.conftest import SCOPES, config_of, open_world
from tests.http.who_may import ALIKE, CODES, ROWS, Wanted
from tests.store import makers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from svc.model import Link, Note, Site, User
    from svc.store.tx import Store, Tx
    from tests.clock import FrozenClock
    from tests.http.conftest import Response, World

PASSWORD = "a long enough one"
HASH = hash_password(PASSWORD)
# The request bodies. `ask` replaces placeholders such as `{account_id}` with the ids of a `Place`.
BODIES: dict[str, dict[str, Any]] = {
    "PATCH /v1/me": {"notify": False},
    "POST /v1/me/email": {"email": "another@example.com", "password": PASSWORD},
    "POST /auth/email/confirm": {"token": "abc"},
    "POST /auth/email/revert": {"token": "abc", "password": PASSWORD},
    "POST /v1/me/password": {"old": PASSWORD, "new": "another long one"},
    "DELETE /v1/me": {"password": PASSWORD},
    "POST /v1/keys": {"scopes": ["links"]},
    "PATCH /v1/keys/{key_id}": {"name": "another name"},
    "POST /v1/accounts": {"edge_account_id": "{new_edge_account_id}", "bootstrap_token": "token"},
    "PATCH /v1/accounts/{account_id}": {"plan": "paid"},
    "POST /v1/accounts/{account_id}/token": {"bootstrap_token": "token"},
    "PUT /v1/accounts/{account_id}/link-host": {"host": "www.example.com"},
    "POST /v1/sites": {"account_id": "{account_id}", "host": "blog.example.com"},
    "PATCH /v1/sites/{site_id}": {"excluded_paths": ["/admin"]},
    "POST /v1/links": {"account_id": "{account_id}", "url": "https://example.org/"},
    "POST /v1/links/bulk": {"account_id": "{account_id}", "links": [{"url": "https://example.org/"}]},
    "POST /v1/sites/{site_id}/totals": {"file": "ZGF5LHZpZXdzCjIwMjYtMDEtMDEsMTIK"},
    "POST /v1/links/title": {"url": "https://example.org:8443/"},  # only port 443 is contacted
    "PATCH /v1/links/bulk": {"ids": ["{link_id}"], "add_tags": ["x"]},
    "DELETE /v1/links/bulk": {"ids": ["{link_id}"], "dry_run": True},
    "POST /v1/links/{link_id}/totals": {"file": "ZGF5LHZpZXdzCjIwMjYtMDEtMDEsMTIK"},
    "PATCH /v1/links/{link_id}": {"url": "https://example.org/other"},
    "POST /v1/links/{link_id}/explain": {},
    "POST /v1/notes": {"site_id": "{site_id}", "day": "2026-11-21", "text": "Newsletter sent"},
    "PATCH /v1/notes/{note_id}": {"text": "Newsletter"},
    "POST /v1/sites/{site_id}/shares": {"name": "Shop"},
    "POST /v1/links/{link_id}/shares": {"name": "Shop"},
    "POST /v1/accounts/{account_id}/shares": {"name": "Shop"},
    "PATCH /v1/shares/{share_id}": {"name": "Shop"},
    "POST /s/{secret}/report": {"password": PASSWORD},
    "PUT /v1/sites/{site_id}/mailings": {"weekly": True, "monthly": False, "recipients": []},
    "PUT /v1/accounts/{account_id}/mailings": {"weekly": False, "monthly": True, "alerts": True, "recipients": []},
    "POST /auth/sign-up": {"email": "somebody@example.com", "password": PASSWORD},
    "POST /auth/invitation": {"invitation": "abc"},
    "POST /auth/confirm": {"token": "abc"},
    "POST /auth/confirm/resend": {"email": "somebody@example.com"},
    "POST /auth/sign-in": {"email": "unknown@example.com", "password": PASSWORD},
    "POST /auth/password-reset": {"email": "somebody@example.com"},
    "POST /auth/password-reset/confirm": {"token": "abc", "password": PASSWORD},
}
# The queries of requests that need one, with the same placeholders.
QUERIES = {
    "GET /v1/notes": "?site_id={site_id}",
    "GET /v1/links/qr.zip": "?ids={link_id}",
    "GET /v1/links/qr.html": "?ids={link_id}",
}
UNKNOWN_KEY = "svc_ABCDEFGHIJKLMNOPQRSTUVWXYZ01234KGnwg"  # a key that does not exist, with a valid checksum
MALFORMED = {
    "no token": "Bearer",
    "a token without a prefix": "Bearer unknown",
    "a token that is not ASCII": "Bearer \xe4\xff",
    "a session that is too short": "Bearer svs_unknown",
    "a key that is too short": "Bearer svc_unknown",
    "an unknown key with a valid checksum": f"Bearer {UNKNOWN_KEY}",
    "a key with an extra letter": f"Bearer {UNKNOWN_KEY}x",
    "a key with a missing letter": f"Bearer {UNKNOWN_KEY[:-1]}",
}
# The responses of these endpoints contain the id from the request, even if the caller has no object with this id.
REPEATS_ID = ("PATCH /v1/links/bulk", "DELETE /v1/links/bulk")

# Ids of objects that do not exist.
ABSENT = {
    "account_id": f"acc_{'a' * 20}",
    "site_id": f"site_{'a' * 20}",
    "link_id": f"lnk_{'a' * 20}",
    "tag": "absent",
    "note_id": f"note_{'a' * 20}",
    "share_id": f"shr_{'a' * 20}",
    "key_id": f"key_{'a' * 20}",
    "session_id": f"ses_{'a' * 20}",
}
HERE, ELSEWHERE = "198.51.100.7", ("192.0.2.0/24",)
PROXY = {"client": ("10.1.2.3", 4711)}


class Place(NamedTuple):
    """A user with one object of each kind."""

    user: User
    ids: dict[str, str]


async def new_place(world: World, *, confirmed: bool = True) -> Place:
    """Create a user with an account, a site, a link, a note, a share, a key and a session."""
    user = await world.user(plan="api")
    account = await world.account(user, f"{user.id:032x}", link_host="go.example.com")
    site = makers.new_site(user.id, account.id)
    link = replace(makers.new_link(user.id, account.id), tags=(f"tag-{user.id}",))
    note = makers.new_note(user.id, account.id, site.id)
    share, secret = makers.new_share(user.id, account.id, site.id), new_id("shs")
    await world.store.run(_furnish(user.id, site, link, note, confirmed))
    await world.store.run(shares.add_share(share, digest(secret)))
    await world.key(user)
    [key] = await world.store.read(keys.list_keys(user.id))
    await world.session(user)
    [session] = await world.store.read(sessions.list_sessions(user.id, world.clock()))
    ids = {
        "account_id": account.id,
        "site_id": site.id,
        "link_id": link.id,
        "tag": link.tags[0],
        "note_id": note.id,
        "share_id": share.id,
        "secret": secret,
        "key_id": key.id,
        "session_id": session.id,
    }
    return Place(user, {**ids, "new_edge_account_id": f"{user.id + 2**64:032x}"})


async def ask(world: World, endpoint: str, ids: dict[str, str], headers: dict[str, str]) -> Response:
    """Send a request in which only the credential may be invalid. Return the response."""
    method, path = endpoint.split(" ")
    path, body = path + QUERIES.get(endpoint, ""), json.dumps(BODIES.get(endpoint, {}))
    for name, value in ids.items():
        path, body = path.replace(f"{{{name}}}", value), body.replace(f"{{{name}}}", value)
    headers = {"Idempotency-Key": new_id("try"), "X-Forwarded-For": HERE, **headers}
    if method == "GET":
        return await world.call(method, path, headers=headers, scope_base=PROXY)
    headers["Content-Type"] = "application/json"
    return await world.call(method, path, data=body, headers=headers, scope_base=PROXY)


def is_as_wanted(response: Response, wanted: str, who: str) -> None:
    """Check the status of the response and, if it is an error, the code."""
    code = CODES.get(wanted)
    status = int(wanted) if code is None else CATALOGUE[code].status
    assert (response.status, response.code) == (status, code), (who, response.raw)


@pytest.fixture
async def unlimited_world(store: Store, clock: FrozenClock, tmp_path: Path) -> AsyncIterator[World]:
    """The application with limits that these tests do not reach."""
    config = config_of(tmp_path)
    limits = config.limits.model_copy(update={"sites": 1_000, "links": 1_000, "accounts": 1_000})
    async with open_world(store, clock, tmp_path, config.model_copy(update={"limits": limits})) as world:
        yield world


@pytest.mark.rule("C1", "C2", "C3", "C4", "C5", "C8", "G10", "A1")
def test_table_has_every_endpoint():
    assert sorted([*ROWS, *ALIKE]) == sorted(f"{one.method} {one.path}" for one in ENDPOINTS)


@pytest.mark.rule("C1", "C5", "C8")
async def test_invalid_credential_is_unauthorized_everywhere(unlimited_world):
    place = await new_place(unlimited_world)
    malformed = {who: {"Authorization": value} for who, value in MALFORMED.items()}
    for who, headers in {**await no_credentials(unlimited_world, place.user), **malformed}.items():
        for endpoint in ROWS:
            response = await ask(unlimited_world, endpoint, place.ids, headers)
            is_as_wanted(response, "401", f"{endpoint}, {who}")
            assert response.headers["WWW-Authenticate"] == "Bearer"
    assert unlimited_world.supervisor.asked == []


@pytest.mark.rule("C1", "W7")
async def test_open_endpoints_ignore_the_credential(unlimited_world):
    place = await new_place(unlimited_world)
    credentials = {
        **await no_credentials(unlimited_world, place.user),
        "session": await unlimited_world.session(place.user),
        "key": await unlimited_world.key(place.user),
    }
    for who, headers in credentials.items():
        for endpoint, wanted in ALIKE.items():
            is_as_wanted(await ask(unlimited_world, endpoint, place.ids, headers), wanted, f"{endpoint}, {who}")


@pytest.mark.rule("C2", "C3", "C4", "G10", "A1")
@pytest.mark.parametrize("who", ["session", "key", "without", "limited", "stranger", "unconfirmed"])
async def test_each_credential_gets_the_responses_of_the_table(unlimited_world, who):
    stranger = await new_place(unlimited_world)
    place = None
    for endpoint, wanted in sorted(ROWS.items(), key=lambda row: not row[0].startswith("GET ")):
        # each write needs a new `Place`; the reads come first and share one
        if place is None or not endpoint.startswith("GET "):
            place = await new_place(unlimited_world, confirmed=who != "unconfirmed")
        await unlimited_world.store.run(
            users.set_password_hash(stranger.user.id, HASH)
        )  # restore the password hash, which one of the endpoints changes
        for headers in await credentials(unlimited_world, who, place.user, stranger.user, wanted):
            response = await ask(unlimited_world, endpoint, place.ids, headers)
            is_as_wanted(response, getattr(wanted, who), f"{endpoint}, {who}")
            if who == "without" and response.code == "scope_required":
                assert response.body["error"]["details"]["scopes"] == list(wanted.scopes or SCOPES), endpoint
            if who in ("stranger", "limited"):
                seen = [name for name, value in place.ids.items() if value.encode() in response.raw]
                if endpoint in REPEATS_ID:
                    another = {**headers, "Idempotency-Key": new_id("try")}
                    absent = await ask(unlimited_world, endpoint, {**place.ids, **ABSENT}, another)
                    assert response.raw.replace(place.ids["link_id"].encode(), ABSENT["link_id"].encode()) == absent.raw
                    seen.remove("link_id")
                assert seen in ([], ["new_edge_account_id"]), (endpoint, response.raw)
            if response.code == "not_found":  # the response must not reveal whether the object exists
                absent = await ask(unlimited_world, endpoint, {**place.ids, **ABSENT}, headers)
                assert (response.status, response.raw) == (absent.status, absent.raw), endpoint
            if response.status >= 400:
                assert unlimited_world.supervisor.asked == [], endpoint
            unlimited_world.supervisor.asked.clear()


async def credentials(world: World, who: str, user: User, stranger: User, wanted: Wanted) -> list[dict[str, str]]:
    """Return the headers of each credential for a column of the table. `wanted`: the row of the endpoint."""
    scopes = wanted.scopes
    others = tuple(scope for scope in SCOPES if scope not in scopes)
    match who:
        case "key" if wanted.needs_all_scopes:
            return [await world.key(user, *scopes)]
        case "key":
            return [await world.key(user, scope) for scope in scopes] or [await world.key(user)]
        case "without":
            return [await world.key(user, *(others if scopes else SCOPES[:1]))]
        case "limited":
            return [await world.key(user, allow_accounts=("e" * 32,))]
        case "stranger":
            return [await world.session(stranger)]
        case _:
            return [await world.session(user)]


async def no_credentials(world: World, user: User) -> dict[str, dict[str, str]]:
    """Return headers without a valid credential: missing, malformed, revoked, or not allowed from this address."""
    signed_out = await world.session(user)
    await world.store.run(sessions.end_session("", digest(signed_out["Authorization"].split()[1])))
    elsewhere = await world.key(user, allow_ips=ELSEWHERE)
    others = await world.store.read(keys.list_keys(user.id))
    revoked = await world.key(user)
    [latest] = [key for key in await world.store.read(keys.list_keys(user.id)) if key not in others]
    assert await world.store.run(keys.delete_key(user.id, latest.id))
    session = (await world.session(user))["Authorization"]
    return {
        "nothing": {},
        "another scheme": {"Authorization": session.replace("Bearer", "Basic")},
        "an unknown session": {"Authorization": f"Bearer {new_secret('svs_')}"},
        "an unknown key": {"Authorization": f"Bearer {new_secret('svc_')}"},
        "a session with an extra letter": {"Authorization": f"{session}a"},
        "a session that was signed out": signed_out,
        "a key from another address": elsewhere,
        "a revoked key": revoked,
    }


def _furnish(user_id: int, site: Site, link: Link, note: Note, confirmed: bool) -> Tx[None]:
    yield from users.set_password_hash(user_id, HASH)
    yield from sites.add_site(site, 10)
    yield from links.add_link(link, 10)
    yield from notes.add_note(note)
    if not confirmed:
        yield sql("update users set email_confirmed = 0 where id = $1", user_id)
