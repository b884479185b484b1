"""Tests that a connect operation names every token that may still be valid, and clears no warning too early."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.clock import DAY_MS, system_clock
from svc.edge.tokens import WORKING_PERMISSIONS
from svc.store import open_store
from svc.store.tx import sql
from tests.actors.conftest import Place
from tests.clock import FrozenClock
from tests.databases import sqlite_config

pytestmark = pytest.mark.usefixtures("every_state_is_logged")

TOKENS = "/accounts/*/tokens"


def names(response):
    """Return the tokens that an error object asks the user to revoke."""
    return sorted(response["error"]["details"]["revoke_tokens"])


async def begun_connect(service, method, path):
    """Start a connect operation, and return when it waits for the response to its call to `path`.

    When the service ends, the operation is interrupted.
    """
    await service.emulator.fault("slow", path, method=method, delay_s=30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(service.connect)
        await service.emulator.faulted()
        nursery.cancel_scope.cancel()


async def connected_with_one_token(service):
    """Connect successfully, and check that the account's token is the only working token."""
    response = await service.connect()
    assert response.status == 202, response.raw
    shown = await service.settled("ready")
    assert await service.token_names() == [shown["token"]["name"]]
    assert shown["error"] is None
    return shown


@pytest.mark.rule("A4", "A5")
async def test_lost_token_that_cannot_be_deleted_is_named_until_it_is_gone(service):
    await service.emulator.fault("drop_after", TOKENS, method="POST")
    await service.emulator.fault("refuse", f"{TOKENS}/*", method="DELETE", times=None)
    response = await service.connect()
    assert (response.status, response.code) == (502, "orphan_not_deleted")
    shown = await service.shown()
    assert shown["state"] == "pending"
    assert names(response.body) == names(shown) == await service.token_names()
    assert shown["error"]["details"]["revoke_token"] in names(shown)

    response = await service.connect()  # the first token still cannot be deleted
    assert (response.code, names(response.body)) == ("orphan_not_deleted", await service.token_names())

    await service.emulator.clear_faults()
    assert (await connected_with_one_token(service))["id"] == shown["id"]


@pytest.mark.rule("A5", "A7", "A8")
async def test_connect_with_an_undeletable_lost_token_waits_an_hour_for_the_same_request(place):
    path = "/v1/accounts"
    async with place.running() as service:
        body = {"edge_account_id": service.customer.account_id, "bootstrap_token": service.customer.bootstrap_token}
        headers = {**service.session, "Idempotency-Key": "one"}
        for _ in range(2):  # the second attempt finds the record of the first connect operation
            await service.emulator.fault("drop_after", TOKENS, method="POST")
            await service.emulator.fault("refuse", f"{TOKENS}/*", method="DELETE", times=None)
            response = await service.world.call("POST", path, body, headers=headers)
            assert (response.status, response.code) == (502, "orphan_not_deleted")
            shown = await service.shown()
            assert (shown["state"], shown["error"]["code"]) == ("pending", "orphan_not_deleted")
            assert (shown["operation"]["state"], shown["operation"]["step"]) == ("running", "waiting")
            assert names(shown) == names(response.body) == await service.token_names()
            await service.emulator.clear_faults()
        place.clock.advance_s(3_599)
    async with place.running() as service:
        await service.idle()
        assert (await service.shown())["state"] == "pending"
        place.clock.advance_s(1)
    async with place.running() as service:
        shown = await service.settled("bootstrap_lost")
        assert names(shown) == await service.token_names()
        service.session = headers = await service.world.session(service.user)
        response = await service.world.call("POST", path, body, headers={**headers, "Idempotency-Key": "one"})
        assert response.status == 202, response.raw
        shown = await service.settled("ready")
        assert await service.token_names() == [shown["token"]["name"]]


@pytest.mark.rule("A4")
@pytest.mark.parametrize("refused", ["*/workers/scripts", "*/d1/database"])
async def test_faulty_token_that_cannot_be_deleted_is_named(service, refused):
    await service.emulator.fault("refuse", refused, method="GET", times=None, status=400, code=1)
    await service.emulator.fault("refuse", f"{TOKENS}/*", method="DELETE", times=None)
    response = await service.connect()
    assert (response.status, response.code) == (502, "token_check_failed")
    assert names(response.body) == names(await service.shown()) == await service.token_names()
    await service.emulator.clear_faults()
    await connected_with_one_token(service)


@pytest.mark.rule("A3", "A9")
async def test_made_up_token_of_a_stranger_delays_no_other_request(service):
    stranger = await service.world.session(await service.world.user())
    body = {"edge_account_id": service.customer.account_id, "bootstrap_token": "0" * 40}
    responses = []

    async def one_of_the_strangers():
        responses.append(await service.world.call("POST", "/v1/accounts", body, headers=stranger))

    # A refusal counts only after several attempts, which take a few seconds.
    await service.emulator.fault("slow", f"{TOKENS}/verify", times=2, delay_s=60)
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(one_of_the_strangers)
        await service.emulator.faulted(2)
        response = await service.connect()
        assert response.status == 202, response.raw
        assert responses == []
        nursery.cancel_scope.cancel()
    await service.settled("ready")


@pytest.mark.rule("A3", "A9")
async def test_account_taken_is_returned_only_to_holders_of_a_valid_token(service):
    await service.ready()
    service.session = await service.world.session(await service.world.user())
    response = await service.connect("0" * 40)
    assert (response.status, response.code) == (422, "invalid_bootstrap")
    _, token = await service.emulator.create_token(service.customer.account_id)
    response = await service.connect(token)
    assert (response.status, response.code) == (409, "account_taken")
    assert response.body["error"]["details"]["bootstrap_token"]["valid"] is True


@pytest.mark.rule("A3", "A4")
@pytest.mark.parametrize(("delay_ms", "spread_ms"), [(1800, 0), (0, 1000)])
async def test_new_bootstrap_and_working_tokens_are_retried_until_accepted(place, delay_ms, spread_ms):
    """The working token is refused for longer than the connect request waits, but the install continues to try the
    token.

    Once one of Cloudflare's locations accepts the bootstrap token, the others must accept it within about a second.
    """
    place.edge |= {"settling_in_connect_s": 3, "settling_s": 20}
    async with place.running() as service:
        rights = ["Account Settings Read", "Account API Tokens Write"]
        token_id, token = await service.emulator.create_token(
            service.customer.account_id, rights=rights, delay_ms=delay_ms
        )
        await service.emulator.set_failure_settings(token_delay_ms=4500, token_spread_ms=spread_ms)
        response = await service.connect(token)
        assert response.status == 202, response.raw
        shown = await service.settled("ready")
        assert await service.token_names() == [shown["token"]["name"]]
        assert token_id not in (await service.held())["tokens"]


# Here, tokens hold all permissions. The table of error codes covers tokens that are refused because they can grant only
# their own permissions.
MINTING = ("all_zones", "held", "silent")


@pytest.mark.rule("A3", "A4")
@pytest.mark.parametrize("minting", MINTING if EVERYTHING else ["all_zones", random.Random(SEED).choice(MINTING[1:])])
async def test_bootstrap_token_that_holds_all_permissions_always_works(service, minting):
    await service.emulator.set_failure_settings(minting=minting)
    seven = [right.name for right in WORKING_PERMISSIONS]
    rights = [*seven, "Account API Tokens Write"]
    token_id, token = await service.emulator.create_token(service.customer.account_id, rights=rights)
    assert (await service.connect(token)).status == 202
    shown = await service.settled("ready")
    assert await service.token_names() == [shown["token"]["name"]]
    assert token_id not in (await service.held())["tokens"]


@pytest.mark.rule("A5", "A8")
async def test_token_of_a_killed_connect_stays_named_until_it_can_be_deleted(place):
    async with place.running() as service:
        await begun_connect(service, "GET", "*/workers/scripts")
    async with place.running() as service:
        shown = await service.settled("bootstrap_lost")
        assert names(shown) == await service.token_names()
        await service.emulator.fault("refuse", f"{TOKENS}/*", method="DELETE", times=None)
        response = await service.connect()
        assert (response.code, names(response.body)) == ("orphan_not_deleted", names(shown))
        assert (await service.shown())["state"] == "pending"
        await service.emulator.clear_faults()
        assert (await connected_with_one_token(service))["id"] == shown["id"]


@pytest.mark.rule("A5")
async def test_token_created_late_is_deleted_before_the_connect_ends(place):
    # The timeout must allow an upload, which takes more than half a second on a busy machine.
    place.edge |= {"timeout_s": 2, "retries": 3, "settling_in_connect_s": 5}
    async with place.running() as service:
        await service.emulator.fault("slow", TOKENS, method="POST", delay_s=2.5)
        # Delay the check of tokens, so that the second connect request checks its token only after the first request
        # has created a working token.
        await service.emulator.fault("slow", "*/tokens/verify", method="GET", after=1, delay_s=1)
        await connected_with_one_token(service)


@pytest.mark.rule("A2", "A5")
async def test_token_that_may_still_appear_is_named_while_the_bootstrap_token_exists(place):
    place.edge |= {"timeout_s": 2}
    async with place.running() as service:
        await service.emulator.fault("slow", TOKENS, method="POST", delay_s=8)
        await service.emulator.fault(
            "refuse", f"{TOKENS}/{service.customer.bootstrap_token_id}", method="DELETE", times=None
        )
        assert (await service.connect()).status == 202
        shown = await service.settled("ready")
        own = shown["token"]["name"]
        assert shown["error"]["warnings"] == ["bootstrap_not_deleted"]

        async def late():
            found = await service.token_names()
            return found if len(found) == 2 else None

        assert sorted([*names(shown), own]) == await eventually(late)


KINDS = ("refuse", "drop_before", "html")


@pytest.mark.rule("A2")
@pytest.mark.parametrize("kind", KINDS if EVERYTHING else [random.Random(SEED).choice(KINDS)])
async def test_undeleted_bootstrap_token_shows_a_warning_until_it_expires(place, kind):
    async with place.running() as service:
        path = f"{TOKENS}/{service.customer.bootstrap_token_id}"
        await service.emulator.fault(kind, path, method="DELETE", times=None)
        response = await service.connect()
        assert response.body["account"]["error"] is None  # the service does not know yet that the Worker never pushes
        shown = await service.settled("ready")
        assert shown["error"] == {"warnings": ["bootstrap_not_deleted"]}
        # The warning stays after a reinstall and after a restart.
        await service.call("POST", f"/v1/accounts/{shown['id']}/install")
        assert (await service.settled("ready"))["error"] == {"warnings": ["bootstrap_not_deleted"]}
    place.clock.now_ms += DAY_MS + 60_000
    async with place.running() as service:

        async def gone():
            return (await service.account()).warnings == ("not_confirmed",) or None

        await eventually(gone)  # only the warning about the Worker that never pushed remains


@pytest.mark.rule("A2")
async def test_warning_about_an_undeleted_bootstrap_token_without_an_expiry_stays(place):
    async with place.running() as service:
        rights = ["Account Settings Read", "Account API Tokens Write"]
        token_id, token = await service.emulator.create_token(
            service.customer.account_id, rights=rights, expires_in_s=None
        )
        await service.emulator.fault("refuse", f"{TOKENS}/{token_id}", method="DELETE", times=None)
        body = {"edge_account_id": service.customer.account_id, "bootstrap_token": token}
        assert (await service.call("POST", "/v1/accounts", body)).status == 202
        account_id = (await service.settled("ready"))["id"]
        await service.emulator.clear_faults()
    place.clock.now_ms += 2 * DAY_MS
    async with place.running() as service:
        await service.idle()
        assert "bootstrap_not_deleted" in (await service.account()).warnings
    place.clock.now_ms -= 2 * DAY_MS  # the session is valid again
    async with place.running() as service:
        response = await service.call("DELETE", f"/v1/accounts/{account_id}")
        assert response.status == 200, response.raw
        assert response.body["left"] == ["Bootstrap token used to connect: it may still be valid, and has no expiry."]


@pytest.mark.rule("A2")
async def test_kill_before_the_bootstrap_token_is_deleted_leaves_a_warning(place):
    async with place.running() as service:
        path = f"{TOKENS}/{service.customer.bootstrap_token_id}"
        await begun_connect(service, "DELETE", path)
    async with place.running() as service:
        assert (await service.settled("ready"))["error"] == {"warnings": ["bootstrap_not_deleted"]}


@pytest.mark.rule("A8")
@pytest.mark.parametrize(("method", "path"), [("POST", TOKENS), ("GET", "*/workers/scripts")])
async def test_store_failure_in_a_connect_is_not_a_refusal_and_its_token_is_named(
    emulator, customer, tmp_path, expected_errors, method, path
):
    expected_errors.allow("store unavailable")
    async with open_store(sqlite_config(tmp_path)) as store:
        place = Place(store, FrozenClock(system_clock()), emulator, customer, tmp_path)
        async with place.running() as service:
            await emulator.fault("slow", path, method=method, delay_s=1)
            with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(is_busy, service)
                    await emulator.faulted()
                    await store.run(no_busy_timeout())
                    other.execute("begin immediate")
                other.execute("rollback")
            shown = await service.settled("bootstrap_lost")
            assert names(shown) == await service.token_names()
            await connected_with_one_token(service)


async def is_busy(service):
    response = await service.connect()
    assert (response.status, response.code) == (503, "busy")


def no_busy_timeout():
    """Let statements fail immediately if another program has locked the file."""
    yield sql("pragma busy_timeout = 0")


async def with_key(service, key, token):
    """Connect with an Idempotency-Key."""
    body = {"edge_account_id": service.customer.account_id, "bootstrap_token": token}
    headers = {**service.session, "Idempotency-Key": key}
    return await service.world.call("POST", "/v1/accounts", body, headers=headers)


@pytest.mark.rule("Y3", "A3")
async def test_key_of_refused_connect_without_token_works_with_a_better_bootstrap_token(service):
    _, weak = await service.emulator.create_token(service.customer.account_id, rights=["Account Settings Read"])
    refused = await with_key(service, "one", weak)
    assert refused.code == "bootstrap_permission_error"
    assert (await with_key(service, "one", service.customer.bootstrap_token)).status == 202
    await service.settled("ready")


@pytest.mark.rule("Y3", "A4")
async def test_connect_refused_after_its_token_was_created_is_replayed(service):
    await service.emulator.set_failure_settings(minting="surplus")
    first = await with_key(service, "one", service.customer.bootstrap_token)
    assert first.code == "token_rights_mismatch"
    assert first.body["error"]["details"]["bootstrap_token"]["valid"] is True
    assert service.customer.bootstrap_token_id in (await service.held())["tokens"]
    await service.emulator.forget_requests()
    again = await with_key(service, "one", service.customer.bootstrap_token)
    assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (first.status, first.raw, "true")
    assert await service.emulator.requests() == []
    await service.emulator.set_failure_settings(minting="all_zones")
    assert (await with_key(service, "two", service.customer.bootstrap_token)).status == 202
    await service.settled("ready")
