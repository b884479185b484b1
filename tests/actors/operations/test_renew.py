"""Tests that a renewal leaves one working token, and that other tokens that may still be valid are named."""

from __future__ import annotations

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.clock import DAY_MS
from svc.errors import ErrorNote
from svc.ids import new_id
from svc.security.token_page import FULL_TOKEN_PAGE, TOKEN_PAGE
from svc.store import operations, renewals
from svc.store.tx import sql
from tests.store.direct_changes import set_account_state

# One engine is sufficient, because Cloudflare behaves in the same way with both engines.
ON_SQLITE = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
TOKENS = "/accounts/*/tokens"
BOOTSTRAP = ["Account Settings Read", "Account API Tokens Write"]


async def bootstrap_token(service, rights=None):
    """Create a bootstrap token. Return its id and its value."""
    return await service.emulator.create_token(service.customer.account_id, rights=rights or BOOTSTRAP)


async def renew(service, token=None, key=None):
    if token is None:
        _, token = await bootstrap_token(service)
    account_id = (await service.account()).id
    headers = service.session if key is None else {**service.session, "Idempotency-Key": key}
    path = f"/v1/accounts/{account_id}/token"
    return await service.world.call("POST", path, {"bootstrap_token": token}, headers=headers)


async def installed(service):
    """Connect and install an account. Return when no operation is running."""
    await service.ready()
    await service.confirmed()
    service.clock.advance_s(1)  # so that the next operation has a later time
    return await service.account()


def named(shown):
    """Return the tokens that the account asks the user to revoke."""
    return set(((shown["error"] or {}).get("details") or {}).get("revoke_tokens", []))


async def is_consistent(service):
    """Check that the account's token is valid and that the account names all other valid tokens. Return the account."""
    shown, alive = await service.shown(), set(await service.token_names())
    assert shown["token"]["name"] in alive, (shown, alive)
    assert alive - {shown["token"]["name"]} <= named(shown), (shown, alive)
    return shown


async def renewed_well(service):
    """Renew the token, and check that the renewal succeeds and leaves only the new working token."""
    before = (await service.account()).token_name
    response = await renew(service)
    assert response.status == 200, response.raw
    await service.idle()
    shown = await service.shown()
    assert shown["token"]["name"] != before
    assert await service.token_names() == [shown["token"]["name"]]
    assert (shown["state"], shown["error"]) == ("ready", None)
    # If tokens remained, the disconnect would name them.
    assert await service.store.read(operations.with_open_token(shown["id"])) == []
    return shown


@pytest.mark.rule("A16")
async def test_renewal_replaces_the_token_and_changes_nothing_else(service):
    before = await installed(service)
    held = await service.held()
    token_id, token = await bootstrap_token(service)
    response = await renew(service, token, key="k")
    assert response.status == 200, response.raw
    account = await service.account()
    assert response.body["account"]["token"]["name"] == account.token_name != before.token_name
    assert (response.body["account"]["state"], response.body["account"]["error"]) == ("ready", None)
    after = await service.held()
    assert [after["tokens"][account.token_id]["name"]] == await service.token_names()
    assert before.token_id not in after["tokens"]
    assert token_id not in after["tokens"]
    assert (after["scripts"], after["databases"]) == (held["scripts"], held["databases"])
    shown = await service.shown()
    assert (shown["operation"]["kind"], shown["operation"]["state"]) == ("renew", "done")
    assert shown["error"] is None
    assert account.sealed_token != before.sealed_token

    again = await renew(service, token, key="k")
    assert (again.status, again.body) == (200, response.body)
    assert (await service.account()).token_name == account.token_name
    gone = await renew(service, token)
    assert (gone.status, gone.code) == (422, "invalid_bootstrap")
    assert (await service.account()).token_name == account.token_name


@pytest.mark.rule("A16", "A10")
async def test_concurrent_renewals_with_one_bootstrap_token_renew_once(service):
    await installed(service)
    _, token = await bootstrap_token(service)
    codes = []

    async def one():
        codes.append((await renew(service, token)).code)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one)
        nursery.start_soon(one)
    # A renewal that arrives during another renewal gets `operation_in_progress`. A renewal that was already waiting
    # gets `invalid_bootstrap`, because the other one has used up the bootstrap token.
    assert sorted(codes, key=str) in ([None, "invalid_bootstrap"], [None, "operation_in_progress"])
    assert await service.token_names() == [(await service.account()).token_name]


@pytest.mark.rule("A16")
@pytest.mark.rule("A16", "G3")
@ON_SQLITE
async def test_repeated_renewal_waits_for_the_first_and_gets_its_response(service):
    """The second renewal must wait even if the bootstrap token could not be deleted and would still work."""
    await installed(service)
    token_id, token = await bootstrap_token(service)
    await service.emulator.forget_requests()
    await service.emulator.fault("slow", TOKENS, method="POST", delay_s=2)
    await service.emulator.fault("refuse", f"{TOKENS}/{token_id}", method="DELETE", status=500, code=10001, times=20)

    async def made():
        asked = [(call["method"], call["path"]) for call in await service.emulator.requests()]
        return [path for method, path in asked if method == "POST" and path.endswith("/tokens")] or None

    async with trio.open_nursery() as nursery:
        nursery.start_soon(renew, service, token, "k")
        await eventually(made, every_s=0.02)
        nursery.cancel_scope.cancel()
    response = await renew(service, token, key="k")
    await service.idle()
    assert response.status == 200, response.raw
    assert len(await made()) == 1
    account = await service.account()
    assert response.body["account"]["token"]["name"] == account.token_name
    assert await service.token_names() == [account.token_name]
    shown = await service.shown()
    assert (shown["operation"]["kind"], shown["operation"]["state"]) == ("renew", "done")
    assert shown["error"] == {"warnings": ["bootstrap_not_deleted"]}


async def test_renewal_without_a_permission_names_the_permission_and_the_token_page(service):
    before = await installed(service)
    for rights in (["Account Settings Read"], ["Account API Tokens Write"], ["D1 Write"]):
        token_id, token = await bootstrap_token(service, rights)
        response = await renew(service, token)
        assert (response.status, response.code) == (422, "bootstrap_permission_error"), rights
        assert set(response.body["error"]["details"]["missing"]) == set(BOOTSTRAP) - set(rights), rights
        assert response.body["error"]["details"]["token_page"] == TOKEN_PAGE, rights
        assert (await service.account()).sealed_token == before.sealed_token, rights
        assert token_id in (await service.held())["tokens"], rights
        shown = await service.shown()
        assert (shown["operation"]["kind"] != "renew", shown["error"]) == (True, None), rights


@pytest.mark.rule("A16")
async def test_refused_renewals_leave_only_the_old_token(service):
    await installed(service)
    for why in ("unknown", "may not write", "fewer rights"):
        before = await service.account()
        _, token = await bootstrap_token(service)
        if why == "unknown":
            token = "x" * 40
        if why == "may not write":
            _, token = await bootstrap_token(service, ["Account Settings Read", "Account API Tokens Read"])
        if why == "fewer rights":
            await service.emulator.set_failure_settings(minting="silent")
        response = await renew(service, token)
        code = "invalid_bootstrap" if why == "unknown" else "bootstrap_permission_error"
        assert (response.status, response.code) == (422, code), (why, response.raw)
        page = FULL_TOKEN_PAGE if why == "fewer rights" else TOKEN_PAGE
        assert response.body["error"]["details"]["token_page"] == page, why
        account = await service.account()
        assert (account.token_name, account.sealed_token) == (before.token_name, before.sealed_token), why
        assert await service.token_names() == [before.token_name], why
        assert (await service.shown())["error"] is None, why
        await service.emulator.set_failure_settings(minting="all_zones")
        await renewed_well(service)
        service.clock.advance_s(1)


@pytest.mark.rule("A16", "A5")
async def test_refused_renewal_names_a_token_that_cannot_be_deleted(service):
    before = await installed(service)
    await service.emulator.fault("refuse", "*/workers/scripts", method="GET", times=None, status=400, code=1)
    await service.emulator.fault("refuse", f"{TOKENS}/*", method="DELETE", times=None)
    response = await renew(service)
    assert (response.status, response.code) == (502, "token_check_failed")
    shown = await is_consistent(service)
    assert set(response.body["error"]["details"]["revoke_tokens"]) == named(shown) != set()
    assert shown["error"]["warnings"] == ["orphan_not_deleted"]
    assert (shown["state"], shown["token"]["name"]) == ("ready", before.token_name)
    response = await renew(service)
    assert (response.status, response.code) == (502, "orphan_not_deleted")
    assert set(response.body["error"]["details"]["revoke_tokens"]) == named(await is_consistent(service))
    await service.emulator.clear_faults()
    await renewed_well(service)


@pytest.mark.rule("A16")
async def test_undeleted_old_token_is_named_until_the_next_renewal(service):
    before = await installed(service)
    await service.emulator.fault("refuse", f"{TOKENS}/{before.token_id}", method="DELETE", times=None)
    response = await renew(service)
    assert (response.status, response.body["account"]["error"]) == (200, None)
    shown = await is_consistent(service)
    assert shown["error"]["warnings"] == ["old_token_not_deleted"]
    assert named(shown) == {before.token_name}
    await service.emulator.clear_faults()
    await renewed_well(service)


@pytest.mark.rule("A16", "A2")
async def test_undeleted_bootstrap_token_shows_a_warning(service):
    await installed(service)
    token_id, token = await bootstrap_token(service)
    await service.emulator.fault("refuse", f"{TOKENS}/{token_id}", method="DELETE", times=None)
    assert (await renew(service, token)).status == 200
    shown = await is_consistent(service)
    assert shown["error"] == {"warnings": ["bootstrap_not_deleted"]}
    service.clock.now_ms += DAY_MS + 60_000
    service.supervisor.wake(service.customer.account_id)

    async def gone():
        return "bootstrap_not_deleted" not in (await service.account()).warnings or None

    await eventually(gone)


@pytest.mark.rule("A16")
async def test_token_creation_with_unknown_outcome_is_a_lost_renewal(service):
    before = await installed(service)
    await service.emulator.fault("drop_after", TOKENS, method="POST", times=None)
    # The first request for the list of tokens checks the bootstrap token and succeeds. Later requests fail.
    await service.emulator.fault("refuse", TOKENS, method="GET", after=1, times=None, status=500)
    _, token = await bootstrap_token(service)
    response = await renew(service, token, key="k")
    assert (response.status, response.code) == (502, "renew_lost"), response.raw
    shown = await is_consistent(service)
    assert response.body["error"]["details"]["revoke_token"] in named(shown) & set(await service.token_names())
    assert (shown["state"], shown["token"]["name"]) == ("ready", before.token_name)
    assert shown["operation"]["state"] == "failed"
    [ended] = [row for row in await service.store.read(rows_of_renewals()) if '"renew_lost"' in row["error"]]
    assert (ended["state"], response.body["error"]["details"]["revoke_token"] in ended["error"]) == ("failed", True)
    await service.emulator.clear_faults()
    # a repeated request continues the renewal with the same bootstrap token
    response = await renew(service, token, key="k")
    assert response.status == 200, response.raw
    shown = await is_consistent(service)
    assert (shown["error"], await service.token_names()) == (None, [shown["token"]["name"]])


@pytest.mark.rule("A16", "A20")
async def test_state_after_a_renewal_is_what_a_check_finds(place):
    place.edge |= {"settling_in_connect_s": 20}  # enough time for the check on a busy machine
    async with place.running() as service:
        account = await installed(service)
        await service.store.run(with_error(account.id, "revoked"))
        _, api_token = await service.emulator.create_token(place.customer.account_id, rights=["Workers Scripts Write"])
        path = f"/accounts/{place.customer.account_id}/workers/scripts/svc-edge"
        await service.as_platform("DELETE", path, api_token)
        response = await renew(service)
        assert (response.status, response.body["account"]["state"]) == (200, "resource_drift")
        await service.idle()
        assert (await service.shown())["state"] == "resource_drift"


@pytest.mark.rule("A16")
async def test_account_that_was_never_installed_is_connected_after_a_renewal(service):
    await service.emulator.fault("refuse", "*/d1/database", method="POST", times=None, status=400, code=1)
    await service.connect()
    await service.settled("connected")
    await service.store.run(expired((await service.account()).id))
    response = await renew(service)
    assert (response.status, response.body["account"]["state"]) == (200, "connected")
    assert response.body["account"]["error"] is None


@pytest.mark.rule("A16", "A11")
@pytest.mark.parametrize("how", ["renewed", "refused"])
async def test_install_keeps_waiting_for_its_worker_after_a_renewal(service, how):
    await service.ready()
    install_id = (await service.account()).install_id
    if how == "refused":
        await service.emulator.fault("refuse", "*/workers/scripts", method="GET", times=None, status=400, code=1)
    assert (await renew(service)).status == {"renewed": 200, "refused": 502}[how]
    operation = (await service.shown())["operation"]
    assert (operation["kind"], operation["state"], operation["step"]) == ("install", "running", "selfcheck")
    await service.confirmed()
    assert (await service.store.read(operations.running((await service.account()).id))) is None
    assert (await service.account()).install_id == install_id


@pytest.mark.rule("A16", "A11")
async def test_worker_that_pushes_during_a_renewal_is_confirmed(service):
    await service.ready()
    account = await service.account()
    await service.store.run(renewals.begin_renew(account.id, new_id("op"), service.clock()))
    await service.confirmed()
    note = ErrorNote("renew_lost", "Lost.")
    await service.store.run(renewals.fail_renew(account.id, note, service.clock()))
    assert await service.store.read(operations.running(account.id)) is None


@pytest.mark.rule("A16", "A10")
async def test_renewal_is_refused_during_another_operation_and_without_a_token(service):
    account = await installed(service)
    new = new_id("op")
    await service.store.run(
        operations.add(new, account.id, account.edge_account_id, "connect", "token", service.clock())
    )
    response = await renew(service)
    assert (response.status, response.code) == (409, "operation_in_progress")
    await service.store.run(operations.finish(new, service.clock()))
    for state in ("pending", "bootstrap_lost", "installing"):
        await service.store.run(set_account_state(account.id, state))
        response = await renew(service)
        assert (response.status, response.code) == (409, "account_not_ready")


def with_error(account_id, code):
    note = f'{{"code": "{code}", "message": "Problem.", "details": null}}'
    yield sql("update accounts set state = $2, error = $3 where id = $1", account_id, code, note)


def expired(account_id):
    yield from with_error(account_id, "revoked")
    yield sql("update accounts set token_expires_at = 1 where id = $1", account_id)


def rows_of_renewals():
    return (yield sql("select * from operations where kind = 'renew'"))
