"""Idempotency-Key: a repeat gets the first response, and nothing is done twice."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.api.contract import ENDPOINTS
from svc.errors import EdgeUnavailable, Invalid, ServiceError
from svc.http.serving.idempotency import REPLAYED, Idempotency
from svc.http.serving.request_parts import idempotency_key
from svc.store import sites, users
from svc.store.idempotency import Claim, StoredResponse
from svc.store.tx import constant
from tests.http.conftest import EDGE_ACCOUNT, open_world
from tests.store.direct_changes import delete_account_row

if TYPE_CHECKING:
    from svc.model import User
    from tests.http.conftest import World

HOST = {"host": "shop.example.com"}
WRITES = [endpoint for endpoint in ENDPOINTS if endpoint.access in ("user", "session") and endpoint.changes]


async def ready(world: World, **more: Any) -> tuple[User, dict[str, str], dict[str, str]]:
    user = await world.user()
    account = await world.account(user, link_host="go.example.com", **more)
    return user, await world.session(user), {"account_id": account.id, **HOST}


@pytest.mark.rule("G1")
async def test_writes_require_an_idempotency_key_with_an_api_key_and_accept_one_with_a_session(world):
    user, session, body = await ready(world)
    key = await world.key(user)
    del key["Idempotency-Key"]
    for endpoint in WRITES:
        # the id is invalid, which has no effect because the header is checked before path and body
        path = re.sub(r"{\w+}", "x", endpoint.path)
        if endpoint.access == "user":
            refused = await world.call(endpoint.method, path, headers=key)
            assert (refused.status, refused.code) == (400, "invalid_request"), path
            assert [issue["path"] for issue in refused.body["error"]["details"]["issues"]] == ["Idempotency-Key"], path
        for wrong in ("", "x" * 201):
            refused = await world.call(endpoint.method, path, headers={**session, "Idempotency-Key": wrong})
            assert (refused.status, refused.code) == (400, "invalid_request"), path
            assert [issue["path"] for issue in refused.body["error"]["details"]["issues"]] == ["Idempotency-Key"], path
    assert (await world.call("POST", "/v1/sites", body, headers=session)).status == 202


@pytest.mark.rule("G2")
@pytest.mark.parametrize(
    ("key", "status"),
    [
        ("", 400),
        ("x", 202),
        ("x" * 200, 202),
        ("x" * 201, 400),
        ("a\tb", 400),
        ("a b", 202),
        ("é", 202),
        ("ключ 日本 😀", 202),
        ("я" * 200, 202),
        ("я" * 201, 400),
        ("a\x85b", 400),
        ("a\u202eb", 400),
    ],
)
async def test_an_idempotency_key_has_1_to_200_characters(world, key, status):
    _, session, body = await ready(world)
    response = await world.call("POST", "/v1/sites", body, headers={**session, "Idempotency-Key": key})
    assert response.status == status


@pytest.mark.rule("G2")
async def test_an_idempotency_key_that_is_not_utf8_is_refused(world):
    for value in ("\xe9", "a\xff", "\xc3"):  # as decoded by the framework
        async with world.app.test_request_context("/", headers={"Idempotency-Key": value}):
            with pytest.raises(Invalid):
                idempotency_key(required=False)


@pytest.mark.rule("G3")
async def test_repeat_gets_the_first_response_and_has_no_effect(world):
    user, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    first = await world.call("POST", "/v1/sites", body, headers=headers)
    again = await world.call("POST", "/v1/sites", body, headers=headers)
    assert (first.status, again.status) == (202, 202)
    assert again.raw == first.raw
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == REPLAYED["Idempotent-Replayed"]
    assert await world.store.read(sites.count_sites(user.id)) == 1


@pytest.mark.rule("Y3")
async def test_after_an_error_without_effect_the_key_works_once_the_cause_is_fixed(world):
    user = await world.user()
    account = await world.account(user)
    headers = {**await world.session(user), "Idempotency-Key": "one"}
    body = {"account_id": account.id, "url": "https://example.org/"}
    refused = await world.call("POST", "/v1/links", body, headers=headers)
    assert refused.code == "link_host_required"
    path = f"/v1/accounts/{account.id}/link-host"
    await world.call("PUT", path, {"host": "go.example.com"}, headers=headers)
    made = await world.call("POST", "/v1/links", body, headers=headers)
    assert made.status == 201
    assert "Idempotent-Replayed" not in made.headers
    assert (await world.call("POST", "/v1/links", body, headers=headers)).raw == made.raw


@pytest.mark.rule("Y3", "G4")
async def test_after_an_error_without_effect_the_key_accepts_another_body(world):
    _, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    assert (await world.call("POST", "/v1/sites", {**body, "host": "not.ours.example"}, headers=headers)).code == (
        "zone_not_found"
    )
    assert (await world.call("POST", "/v1/sites", body, headers=headers)).status == 202


@pytest.mark.rule("Y3", "C7")
async def test_after_limit_reached_the_key_works_once_the_limit_allows(world):
    session = await world.session(await world.user())
    headers = {**session, "Idempotency-Key": "one"}
    body = {"scopes": ["sites"]}
    first = await world.call("POST", "/v1/keys", body, headers=session)
    assert (await world.call("POST", "/v1/keys", body, headers=headers)).code == "limit_reached"
    key_id = (await world.call("GET", "/v1/keys", headers=session)).body["keys"][0]["id"]
    assert first.body["id"] == key_id
    await world.call("DELETE", f"/v1/keys/{key_id}", headers=session)
    assert (await world.call("POST", "/v1/keys", body, headers=headers)).status == 201
    assert (await world.call("POST", "/v1/keys", body, headers=headers)).code == "key_already_issued"


@pytest.mark.rule("Y3", "G3")
@pytest.mark.parametrize("code", ["bootstrap_permission_error", "token_check_failed"])
async def test_error_after_an_effect_is_replayed(world, code):
    headers = {**await world.session(await world.user()), "Idempotency-Key": "one"}
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "token"}
    world.supervisor.refusal = ServiceError(code, details={"revoke_tokens": ["svc-op"]}, had_effect=True)
    first = await world.call("POST", "/v1/accounts", body, headers=headers)
    assert first.code == code
    world.supervisor.refusal = None
    again = await world.call("POST", "/v1/accounts", body, headers=headers)
    assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (first.status, first.raw, "true")
    other = await world.call("POST", "/v1/accounts", {**body, "bootstrap_token": "other"}, headers=headers)
    assert other.code == "idempotency_conflict"
    assert len(world.supervisor.asked) == 1


@pytest.mark.rule("Y3", "G3")
async def test_concurrent_refused_requests_both_get_the_error(world):
    user = await world.user()
    account = await world.account(user, state="connected")
    headers = {**await world.session(user), "Idempotency-Key": "one"}
    responses = []

    async def send() -> None:
        responses.append(await world.call("POST", "/v1/sites", {"account_id": account.id, **HOST}, headers=headers))

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(send)
    assert [response.code for response in responses] == ["account_not_ready"] * 2
    assert not any("Idempotent-Replayed" in response.headers for response in responses)


@pytest.mark.rule("Y3", "G4")
async def test_another_body_is_refused_while_the_first_request_runs(world):
    _, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    codes: list[str | None] = []
    arrived, release = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    async def first() -> None:
        codes.append(
            (await world.call("POST", "/v1/sites", {**body, "host": "not.ours.example"}, headers=headers)).code
        )

    world.supervisor.before = hold
    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        await arrived.wait()
        assert (await world.call("POST", "/v1/sites", body, headers=headers)).code == "idempotency_conflict"
        release.set()
    assert codes == ["zone_not_found"]
    assert (await world.call("POST", "/v1/sites", body, headers=headers)).status == 202


@pytest.mark.rule("G3")
async def test_users_methods_and_paths_do_not_share_keys(world):
    _, session, body = await ready(world)
    _, other_session, _ = await ready_with(world, "f" * 32)
    first = await world.call("POST", "/v1/sites", body, headers={**session, "Idempotency-Key": "one"})
    assert first.status == 202
    link = {"account_id": body["account_id"], "url": "https://example.org"}
    link_response = await world.call("POST", "/v1/links", link, headers={**session, "Idempotency-Key": "one"})
    assert link_response.status == 201
    stranger = await world.call("POST", "/v1/sites", body, headers={**other_session, "Idempotency-Key": "one"})
    assert stranger.code == "not_found"


@pytest.mark.rule("G3")
async def test_repeat_with_another_credential_of_the_user_gets_the_first_response(world):
    user, session, body = await ready(world)
    first = await world.call("POST", "/v1/sites", body, headers={**await world.key(user), "Idempotency-Key": "one"})
    assert first.status == 202
    for credential in (session, await world.key(user), await world.session(user), await world.key(user, "sites")):
        again = await world.call("POST", "/v1/sites", body, headers={**credential, "Idempotency-Key": "one"})
        assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (202, first.raw, "true")
    assert await world.store.read(sites.count_sites(user.id)) == 1


@pytest.mark.rule("C2")
@pytest.mark.rule("C4")
async def test_response_is_not_replayed_to_a_credential_without_access(world):
    user, session, body = await ready(world)
    first = await world.call("POST", "/v1/sites", body, headers={**session, "Idempotency-Key": "one"})
    assert first.status == 202
    for key, code in (
        (await world.key(user, "links"), "scope_required"),
        (await world.key(user, allow_accounts=("f" * 32,)), "idempotency_conflict"),
        (await world.key(user, allow_accounts=()), "idempotency_conflict"),
    ):
        again = await world.call("POST", "/v1/sites", body, headers={**key, "Idempotency-Key": "one"})
        assert again.code == code
        assert b"shop.example.com" not in again.raw
    limited = await world.key(user, allow_accounts=(EDGE_ACCOUNT,))
    other = {**body, "host": "other.example.com"}
    made = await world.call("POST", "/v1/sites", other, headers={**limited, "Idempotency-Key": "two"})
    for credential in (limited, session, await world.key(user, allow_accounts=("f" * 32, EDGE_ACCOUNT))):
        again = await world.call("POST", "/v1/sites", other, headers={**credential, "Idempotency-Key": "two"})
        assert (again.status, again.raw) == (202, made.raw)


async def ready_with(world: World, edge_account_id: str) -> tuple[User, dict[str, str], dict[str, str]]:
    user = await world.user()
    account = await world.account(user, edge_account_id)
    return user, await world.session(user), {"account_id": account.id, **HOST}


@pytest.mark.rule("G3")
async def test_concurrent_repeats_get_one_response(world):
    user, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    responses = []
    arrived, release = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    async def send() -> None:
        responses.append(await world.call("POST", "/v1/sites", body, headers=headers))

    world.supervisor.before = hold
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(send)
        await arrived.wait()
        release.set()
    assert [response.status for response in responses] == [202] * 5
    assert len({response.raw for response in responses}) == 1
    assert sorted("Idempotent-Replayed" in response.headers for response in responses) == [False] + [True] * 4
    assert world.supervisor.asked == ["zone shop.example.com", "zone example.com", "records of shop.example.com"]
    assert await world.store.read(sites.count_sites(user.id)) == 1


@pytest.mark.rule("G3")
async def test_repeat_after_a_restart_gets_the_first_response(world, store, clock, tmp_path):
    _, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    first = await world.call("POST", "/v1/sites", body, headers=headers)
    async with open_world(store, clock, tmp_path) as restarted:
        again = await restarted.call("POST", "/v1/sites", body, headers=headers)
        assert (again.status, again.raw) == (202, first.raw)
        assert restarted.supervisor.asked == []


@pytest.mark.rule("G3")
async def test_repeat_gets_the_response_that_an_actor_finished_after_the_client_disconnected(world):
    headers = {**await world.session(await world.user()), "Idempotency-Key": "one"}
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "token"}
    arrived, release = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    world.supervisor.before = hold
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: world.call("POST", "/v1/accounts", body, headers=headers))
        await arrived.wait()
        nursery.cancel_scope.cancel()
    # When the repeat is executed, the first request has already connected the account, so the actor refuses another
    # connect request.
    async with trio.open_nursery() as nursery:
        responses = []

        async def repeat() -> None:
            responses.append(await world.call("POST", "/v1/accounts", body, headers=headers))

        nursery.start_soon(repeat)
        release.set()
    assert [response.status for response in responses] == [202]
    other_key = {**headers, "Idempotency-Key": "two"}
    assert (await world.call("POST", "/v1/accounts", body, headers=other_key)).code == "already_connected"


@pytest.mark.rule("G3")
async def test_repeat_gets_the_first_response_even_if_its_object_was_deleted(world):
    user = await world.user()
    account = await world.account(user)
    headers = {**await world.session(user), "Idempotency-Key": "one"}
    path = f"/v1/accounts/{account.id}/install"
    first = await world.call("POST", path, headers=headers)
    await world.store.run(delete_account_row(account.id))
    again = await world.call("POST", path, headers=headers)
    assert (first.status, again.status, again.raw) == (202, 202, first.raw)
    assert (await world.call("POST", path, headers={**headers, "Idempotency-Key": "two"})).status == 404


@pytest.mark.rule("G4")
async def test_another_body_with_the_same_key_is_a_conflict(world):
    user, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    await world.call("POST", "/v1/sites", body, headers=headers)
    other = await world.call("POST", "/v1/sites", {**body, "host": "other.example.com"}, headers=headers)
    assert (other.status, other.code) == (409, "idempotency_conflict")
    assert (await world.call("POST", "/v1/sites", body, headers=headers)).status == 202
    assert await world.store.read(sites.count_sites(user.id)) == 1


@pytest.mark.rule("G4")
async def test_concurrent_request_with_another_body_is_a_conflict(world):
    user, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    codes: dict[str, str | None] = {}
    arrived, release = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    async def send(host: str) -> None:
        codes[host] = (await world.call("POST", "/v1/sites", {**body, "host": host}, headers=headers)).code

    world.supervisor.before = hold
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send, "first.example.com")
        await arrived.wait()
        for n in range(3):
            nursery.start_soon(send, f"other{n}.example.com")
        release.set()
    assert codes.pop("first.example.com") is None
    assert set(codes.values()) == {"idempotency_conflict"}
    assert await world.store.read(sites.count_sites(user.id)) == 1


@pytest.mark.rule("G3")
async def test_field_order_of_the_body_does_not_matter(world):
    _, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one", "Content-Type": "application/json"}
    in_order = [f'{{"host": "{HOST["host"]}", "account_id": "{body["account_id"]}"}}']
    in_order.append(f'{{"account_id":"{body["account_id"]}","host":"{HOST["host"]}"}}')
    first, again = [await world.call("POST", "/v1/sites", headers=headers, data=raw) for raw in in_order]
    assert (first.status, again.raw) == (202, first.raw)


@pytest.mark.rule("G5")
async def test_key_expires_after_a_day(world):
    _, session, body = await ready(world)
    headers = {**session, "Idempotency-Key": "one"}
    first = await world.call("POST", "/v1/sites", body, headers=headers)
    world.clock.advance_s(86_399)
    assert (await world.call("POST", "/v1/sites", body, headers=headers)).raw == first.raw
    world.clock.advance_s(1)
    assert (await world.call("POST", "/v1/sites", body, headers=headers)).code == "site_exists"


@pytest.mark.rule("A7")
@pytest.mark.parametrize(
    "refusal",
    [
        EdgeUnavailable("down"),
        ServiceError("token_check_failed"),
        ServiceError("rate_limited", retry_after_s=3),
        ServiceError("operation_in_progress"),
        ServiceError("busy", retry_after_s=2),
    ],
)
async def test_transient_error_is_not_stored_so_a_repeat_runs_again(world, refusal):
    headers = {**await world.session(await world.user()), "Idempotency-Key": "one"}
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "token"}
    world.supervisor.refusal = refusal
    refused = await world.call("POST", "/v1/accounts", body, headers=headers)
    assert (refused.status, refused.code) == (refusal.status, refusal.code)
    assert refused.headers.get("Retry-After") == (str(refusal.retry_after_s) if refusal.retry_after_s else None)
    world.supervisor.refusal = None
    assert (await world.call("POST", "/v1/accounts", body, headers=headers)).status == 202


@pytest.mark.rule("G3", "A10")
async def test_repeat_refused_because_of_its_first_attempt_gets_that_response(world):
    user = await world.user()
    idempotency = Idempotency(world.store, world.clock, 1_000_000)
    claim = Claim(user.id, None, "POST", "/v1/accounts/acc_1/install", "one", "digest")

    def accepted(_: None) -> StoredResponse:
        return StoredResponse(202, b"{}", "application/json", {})

    async def too_late() -> StoredResponse:
        """Let the first attempt, whose client has disconnected, commit just before the repeat is rejected."""
        await world.store.run(idempotency.committed(claim, accepted, None)(constant(None)))
        raise ServiceError("operation_in_progress")

    response = await idempotency.once(claim, too_late)
    assert (response.status, response.headers) == (202, REPLAYED)


async def test_error_of_the_credential_check_is_not_stored(world):
    user = await world.user(confirmed=False)
    headers = {**await world.session(user), "Idempotency-Key": "one"}
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "token"}
    assert (await world.call("POST", "/v1/accounts", body, headers=headers)).code == "email_unconfirmed"
    await world.store.run(users.put_mail_token(user.id, "confirm", "d", world.clock() + 1))
    await world.store.run(users.confirm_user("d", world.clock()))
    assert (await world.call("POST", "/v1/accounts", body, headers=headers)).status == 202
