"""What holds for every endpoint of the contract, those to come included: who may, from whom it hides what, what it
wants of a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.api.contract import ENDPOINTS
from svc.store import keys as stored_keys
from svc.store import sessions
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT, SCOPES
from tests.http.serving.test_refusals import is_error
from tests.store.makers import a_link, a_site

if TYPE_CHECKING:
    from svc.api.endpoint import Endpoint
    from svc.model import User
    from tests.http.conftest import Answer, World

NOBODYS = "a" * 20
OWN = [endpoint for endpoint in ENDPOINTS if endpoint.access in ("user", "session")]
BY_KEY = [endpoint for endpoint in OWN if endpoint.access == "user"]
WRITES = [endpoint for endpoint in OWN if endpoint.changes]
# What they want beyond what the contract says: all scopes.
ALL_SCOPES = ("/v1/export",)


def name_of(endpoint: Endpoint[Any, Any]) -> str:
    return f"{endpoint.method} {endpoint.path}"


async def call(
    world: World, endpoint: Endpoint[Any, Any], headers: dict[str, str], ids: dict[str, str] | None = None
) -> Answer:
    """The request of the contract's example, about these objects or about none that there is."""
    ids = {f"{noun}_id": f"{prefix}_{NOBODYS}" for noun, prefix in PREFIXES.items()} | (ids or {})
    body = None
    if endpoint.body is not None:
        real = {"account_id": ids["account_id"], "bootstrap_token": "t"}
        body = {name: real.get(name, of) for name, of in endpoint.example.items()}
    query = "?day=2026-11-20" if endpoint.path.endswith("/ledger") else ""
    return await world.call(endpoint.method, endpoint.path.format(**ids) + query, body, headers=headers)


PREFIXES = {"account": "acc", "site": "site", "link": "lnk", "key": "key", "session": "ses"}


async def objects_of(world: World, user: User, edge_account_id: str = EDGE_ACCOUNT) -> dict[str, str]:
    """An account, a site, a link, a key and a session of a user."""
    account = await world.account(user, edge_account_id, link_host="go.example.com")
    await world.key(user)
    await world.session(user)
    return {
        "account_id": account.id,
        "site_id": await world.store.run(a_site(account.id)),
        "link_id": await world.store.run(a_link(account.id)),
        "key_id": (await world.store.read(stored_keys.list_keys(user.id)))[-1].id,
        "session_id": (await world.store.read(sessions.list_sessions(user.id, world.clock())))[-1].id,
    }


@pytest.mark.rule("C2")
async def test_a_key_gets_in_with_any_scope_of_an_endpoint_and_with_no_other(world):
    user = await world.user()
    for scope in SCOPES:
        key = await world.key(user, scope)
        for endpoint in BY_KEY:
            answer = await call(world, endpoint, {**key, "Idempotency-Key": name_of(endpoint)})
            if endpoint.path in ALL_SCOPES or (endpoint.scopes and scope not in endpoint.scopes):
                is_error(answer, 403, "scope_required")
                assert answer.body["error"]["details"]["scopes"] == list(endpoint.scopes or SCOPES)
            else:
                assert answer.code not in ("scope_required", "session_required", "unauthorized"), name_of(endpoint)


@pytest.mark.rule("G1")
async def test_every_write_with_a_key_wants_an_idempotency_key_and_takes_one_of_a_session(world):
    user = await world.user()
    key, session = await world.key(user), await world.session(user)
    without = {"Authorization": key["Authorization"]}
    for endpoint in WRITES:
        if endpoint.access == "user":
            answer = await call(world, endpoint, without)
            is_error(answer, 400, "invalid_request")
            assert [issue["path"] for issue in answer.body["error"]["details"]["issues"]] == ["Idempotency-Key"]
        for wrong in ("", "x" * 201):
            answer = await call(world, endpoint, {**session, "Idempotency-Key": wrong})
            is_error(answer, 400, "invalid_request")


@pytest.mark.rule("G10", "C4")
async def test_what_is_anothers_is_answered_exactly_like_what_does_not_exist(world):
    """Of another user, and of the own user's account that the key does not see."""
    user, stranger = await world.user(), await world.user()
    theirs = await objects_of(world, stranger, OTHER_EDGE_ACCOUNT)
    hidden = await objects_of(world, user)
    limited = await world.key(user, allow_accounts=("0" * 32,))
    session = await world.session(user)
    for endpoint in OWN:
        names = [endpoint.id_name] if endpoint.id_name else ["account_id"] if "account_id" in endpoint.example else []
        if not names:
            continue
        of_nobody = await call(world, endpoint, session)
        is_error(of_nobody, 404, "not_found")
        seen = [await call(world, endpoint, session, theirs)]
        if endpoint.access == "user":
            nobodys = await call(world, endpoint, {**limited, "Idempotency-Key": name_of(endpoint)})
            other = {**limited, "Idempotency-Key": f"{name_of(endpoint)} 2"}
            seen += [nobodys, await call(world, endpoint, other, hidden)]
        for answer in seen:
            assert (answer.status, answer.raw) == (404, of_nobody.raw), name_of(endpoint)
