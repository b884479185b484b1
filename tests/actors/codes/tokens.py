"""Rows with the codes of connect operations, of renewals, and of the working token."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import trio

from edge_worker.harness.service import eventually
from svc.edge.tokens import WORKING_PERMISSIONS
from tests.actors.codes.case import A_TOKEN, INSTALLED, NOTHING, row

if TYPE_CHECKING:
    from svc.errors import Code
    from tests.actors.codes.case import Case
    from tests.http.conftest import Response

TOKENS = "/accounts/*/tokens"
SEVEN = [right.name for right in WORKING_PERMISSIONS]
LOCAL = "http://127.0.0.1:8080/edge/push"
# The interval is not shorter, because each health check takes nearly 0.1 s of CPU time.
QUICK = {"health_every_s": 0.25}
REFUSED = ("status", "edge_code")
ORPHANS = ("revoke_token", "revoke_tokens")


# ----------------------------------------------------------------------- connect requests that are refused immediately


@row("email_unconfirmed", "response", state=None, resources=NOTHING)
async def a_user_with_an_unconfirmed_email(case: Case) -> None:
    service = case.service
    user = {"email": "new@example.com", "password": "correct horse battery staple"}
    await service.call("POST", "/auth/sign-up", user)
    signed_in = await service.world.call("POST", "/auth/sign-in", user)
    service.session = {"Authorization": f"Bearer {signed_in.body['access_token']}"}
    await case.expect_error(await service.connect())
    await case.expect_error(await service.connect())
    [email] = await service.world.inbox()
    token = re.search(r"confirm\?token=(\S+)", email)
    assert token is not None
    await service.world.call("POST", "/auth/confirm", {"token": token[1]})
    # the refused connect requests have not used up the first bootstrap token
    assert (await service.connect()).status == 202


@row("account_taken", "response", state=None)
async def an_account_of_another_user(case: Case) -> None:
    service, own = case.service, case.service.session
    service.session = await service.world.session(await service.world.user())
    await case.installed()
    service.session, others = own, service.session
    await case.expect_error(await case.connect())
    await case.expect_error(await case.connect())
    service.session = others
    await case.disconnected()
    await case.delete_tokens(*await service.token_names())
    service.session = own
    await case.connected()


@row("already_connected", "response", shares=True)
async def the_users_own_account(case: Case) -> None:
    await case.installed()
    token_id, token = await case.bootstrap()
    await case.expect_error(await case.connect(token))
    await case.expect_error(await case.connect(token))
    assert token_id in (await case.service.held())["tokens"]  # the token has not been used


@row("limit_reached", "response", state=None, resources=NOTHING, limits={"accounts": 1})
async def too_many_accounts(case: Case) -> None:
    other = await case.emulator.create_account()
    body = {"edge_account_id": other.account_id, "bootstrap_token": other.bootstrap_token}
    first = (await case.service.call("POST", "/v1/accounts", body)).body["account"]["id"]
    await case.expect_error(await case.connect())
    await case.expect_error(await case.connect())

    async def deleted() -> bool | None:  # the token is deleted when the install has ended
        return (await case.service.call("DELETE", f"/v1/accounts/{first}")).status == 200 or None

    await eventually(deleted)
    await case.connected()


@row("service_full", "response", state=None, resources=NOTHING, limits={"accounts_total": 1})
async def too_many_accounts_of_all_users(case: Case) -> None:
    service = case.service
    other = await case.emulator.create_account()
    body = {"edge_account_id": other.account_id, "bootstrap_token": other.bootstrap_token}
    session = await service.world.session(await service.world.user())
    assert (await service.world.call("POST", "/v1/accounts", body, headers=session)).status == 202
    await case.expect_error(await case.connect())
    await case.expect_error(await case.connect())
    case.place.limits["accounts_total"] = 2
    await case.start()
    await case.connected()


@row("not_configured", "response", state=None, resources=NOTHING)
async def a_service_that_workers_cannot_reach(case: Case) -> None:
    public, case.place.push_url = case.place.push_url, LOCAL
    await case.start()
    await case.expect_error(await case.service.connect())
    await case.expect_error(await case.service.connect())
    assert await case.emulator.requests() == []
    case.place.push_url = public
    await case.start()
    assert (await case.service.connect()).status == 202


@row("idempotency_conflict", "response")
async def a_key_that_was_used_for_another_connect(case: Case) -> None:
    service = case.service

    async def connect(key: str, **more: str) -> Response:
        body = {"edge_account_id": case.customer.account_id, "bootstrap_token": case.customer.bootstrap_token, **more}
        headers = {**service.session, "Idempotency-Key": key}
        return await service.world.call("POST", "/v1/accounts", body, headers=headers)

    await connect("one")
    await service.settled("ready")
    await service.confirmed()
    await case.expect_error(await connect("one", location="eu"))
    await case.expect_error(await connect("one", location="eu"))
    await case.disconnected()
    await case.delete_tokens(*await service.token_names())
    _, token = await case.bootstrap()
    assert (await connect("two", location="eu", bootstrap_token=token)).status == 202


# ----------------------------------------------------------------------------------------------- bootstrap tokens


@row("invalid_bootstrap", "response", details=("token_page", *REFUSED), state=None, resources=NOTHING)
async def a_connect_with_an_unknown_token(case: Case) -> None:
    await case.expect_error(await case.connect("x" * 40))
    await case.expect_error(await case.connect("x" * 40))
    await case.connected()


@row("invalid_bootstrap", "response", details=("token_page", "status"), state=None, resources=NOTHING)
async def a_connect_with_an_expired_token(case: Case) -> None:
    _, token = await case.bootstrap(expires_in_s=-1)
    await case.expect_error(await case.connect(token))
    await case.expect_error(await case.connect(token))
    await case.connected()


@row("invalid_bootstrap", "response", details=("token_page", *REFUSED), state=None, resources=NOTHING)
async def a_connect_with_a_token_of_another_account(case: Case) -> None:
    other = await case.emulator.create_account()
    await case.expect_error(await case.connect(other.bootstrap_token))
    await case.expect_error(await case.connect(other.bootstrap_token))
    await case.connected()


@row("invalid_bootstrap", "response", details=("token_page", *REFUSED), shares=True)
async def a_renewal_with_a_token_that_was_used(case: Case) -> None:
    await case.installed()
    _, token = await case.bootstrap()
    assert (await case.renew(token)).status == 200
    await case.expect_error(await case.renew(token))
    await case.expect_error(await case.renew(token))
    await case.renewed()


@row(
    "bootstrap_permission_error",
    "response",
    details=(
        "token_page",
        "missing",
    ),
    state=None,
    resources=NOTHING,
)
async def a_connect_with_a_read_only_token(case: Case) -> None:
    token_id, token = await case.bootstrap("Account Settings Read", "Account API Tokens Read")
    assert (await case.expect_error(await case.connect(token)))["missing"] == ["Account API Tokens Write"]
    await case.expect_error(await case.connect(token))
    assert token_id in (await case.service.held())["tokens"]
    await case.connected()


@row(
    "bootstrap_permission_error", "response", details=("token_page", "missing", *REFUSED), state=None, resources=NOTHING
)
async def a_connect_where_tokens_grant_only_their_own_permissions(case: Case) -> None:
    await connect_with_restricted_granting(case, "held")


@row("bootstrap_permission_error", "response", details=("token_page", "missing"), state=None, resources=NOTHING)
async def a_connect_where_tokens_silently_grant_only_their_own_permissions(case: Case) -> None:
    await connect_with_restricted_granting(case, "silent")


async def connect_with_restricted_granting(case: Case, minting: str) -> None:
    await case.emulator.set_failure_settings(minting=minting)
    assert (await case.expect_error(await case.connect()))["missing"] == SEVEN
    await case.expect_error(await case.connect())
    _, token = await case.bootstrap(*SEVEN, "Account API Tokens Write")
    await case.connect(token)


@row(
    "bootstrap_permission_error",
    "response",
    "operation.error",
    details=("token_page", "missing", *REFUSED),
    shares=True,
)
async def a_renewal_where_tokens_grant_only_their_own_permissions(case: Case) -> None:
    await case.installed()
    await case.emulator.set_failure_settings(minting="held")
    await case.expect_error(await case.renew())
    await case.expect_error(await case.renew())
    _, token = await case.bootstrap(*SEVEN, "Account API Tokens Write")
    await case.renewed(token)


# ------------------------------------------------------------------------------------- faulty working tokens


async def connect_or_renew(case: Case) -> None:
    """Connect or renew three times: the first two attempts are refused, and the third succeeds."""
    renews = case.row.state == "ready"
    if renews:
        await case.installed()
    break_platform = {
        "permission_catalog": lambda: case.emulator.set_failure_settings(renamed_permission="D1 Write"),
        "token_rights_mismatch": lambda: case.emulator.set_failure_settings(minting="surplus"),
        "token_check_failed": lambda: case.refuse("*/workers/scripts", "GET"),
    }[case.row.code]
    await break_platform()
    ask = case.renew if renews else case.connect
    await case.expect_error(await ask())
    await case.expect_error(await ask())
    await case.emulator.set_failure_settings(renamed_permission="", minting="all_zones")
    await case.emulator.clear_faults()
    await (case.renewed() if renews else case.connected())


_FAULTY: tuple[tuple[Code, tuple[str, ...]], ...] = (
    ("permission_catalog", ("missing",)),
    ("token_rights_mismatch", ()),
    ("token_check_failed", REFUSED),
)
for _code, _details in _FAULTY:
    row(_code, "response", details=_details, state=None, resources=NOTHING)(connect_or_renew)
    row(_code, "response", "operation.error", details=_details, shares=True)(connect_or_renew)


@row(
    "orphan_not_deleted", "response", "account.error", details=(*ORPHANS, *REFUSED), state="pending", resources=A_TOKEN
)
async def a_lost_token_of_a_connect_that_cannot_be_deleted(case: Case) -> None:
    await case.emulator.fault("drop_after", TOKENS, method="POST")
    await case.refuse(f"{TOKENS}/*", "DELETE")
    await case.expect_error(await case.connect())
    named = (await case.expect_error(await case.connect()))["revoke_tokens"]
    await case.emulator.clear_faults()
    await case.delete_tokens(*named)
    await case.connected()


@row(
    "orphan_not_deleted",
    "response",
    "operation.error",
    "account.error.warnings",
    details=(*ORPHANS, *REFUSED),
    resources=INSTALLED._replace(tokens=2),
)
async def a_lost_token_of_a_renewal_that_cannot_be_deleted(case: Case) -> None:
    await case.installed()
    await case.emulator.fault("drop_after", TOKENS, method="POST")
    await case.refuse(f"{TOKENS}/*", "DELETE")
    await case.expect_error(await case.renew())
    named = (await case.expect_error(await case.renew()))["revoke_tokens"]
    await case.emulator.clear_faults()
    await case.delete_tokens(*named)
    await case.renewed()


@row("renew_lost", "response", "operation.error", details=ORPHANS, resources=INSTALLED._replace(tokens=2))
async def a_renewal_whose_outcome_is_unknown(case: Case) -> None:
    await case.installed()
    await case.emulator.fault("drop_after", TOKENS, method="POST")
    # The first request for the list of tokens checks the bootstrap token and succeeds. Later requests fail.
    await case.refuse(TOKENS, "GET", after=1, status=500)
    named = (await case.expect_error(await case.renew()))["revoke_token"]
    await case.emulator.clear_faults()
    assert named in await case.service.token_names()
    # Renewals keep failing until Cloudflare lists tokens again.
    await case.refuse(TOKENS, "GET", after=1, status=500)
    await case.expect_error(await case.renew())
    await case.emulator.clear_faults()
    await case.delete_tokens(named)
    await case.renewed()


@row("bootstrap_lost", "account.error", "operation.error", details=ORPHANS, state="bootstrap_lost", resources=A_TOKEN)
async def a_connect_that_was_killed(case: Case) -> None:
    await case.emulator.fault("slow", "*/workers/scripts", method="GET", delay_s=30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(case.connect)
        await case.emulator.faulted()
        nursery.cancel_scope.cancel()
    await case.start()
    named = (await case.expect_error())["revoke_tokens"]
    for path in ("/install", "/check"):
        await case.post(path)
    assert (await case.add_site(case.zone)).body["error"]["details"]["reason"] == "bootstrap_lost"
    await case.expect_error()
    await case.delete_tokens(*named)
    await case.connected()


# ------------------------------------------------------------------------------------- tokens that were not deleted


@row("bootstrap_not_deleted", "account.error.warnings")
async def a_bootstrap_token_that_cannot_be_deleted(case: Case) -> None:
    token_id, token = await case.bootstrap()
    await case.refuse(f"{TOKENS}/{token_id}", "DELETE")
    assert (await case.connect(token)).status == 202
    await case.expect_error()
    await case.service.idle()
    await case.expect_error()
    await case.restart_after(1.01)  # the token has expired
    await case.install("ready")


@row(
    "old_token_not_deleted",
    "account.error.warnings",
    details=("revoke_tokens",),
    resources=INSTALLED._replace(tokens=2),
    shares=True,
)
async def an_old_token_that_cannot_be_deleted(case: Case) -> None:
    await case.installed()
    await case.refuse(f"{TOKENS}/{(await case.service.account()).token_id}", "DELETE")
    await case.renewed()
    named = (await case.expect_error())["revoke_tokens"]
    await case.install("ready")
    await case.expect_error()
    await case.emulator.clear_faults()
    await case.delete_tokens(*named)
    await case.renewed()


@row("token_expires_soon", "account.error.warnings")
async def a_token_that_expires_soon(case: Case) -> None:
    await case.installed()
    await case.restart_after(352)
    await case.expect_error()
    await case.install("ready")
    await case.expect_error()
    await case.renewed()


# ------------------------------------------------------------------------------------------------ the working token


@row("revoked", "account.error", state="revoked", timing=QUICK)
async def a_token_that_is_disabled(case: Case) -> None:
    await case.installed()
    await case.customer_api.edit_token(status="disabled")
    await case.expect_error()
    assert (await case.post("/install")).code == "account_not_ready"
    refused = await case.put_link_host(f"go.{case.zone}")
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "revoked")
    await case.expect_error()
    await case.renewed()


@row(
    "token_refused",
    "response",
    "account.error",
    details=REFUSED,
    state="permission_error",
    resources=INSTALLED._replace(tokens=0),
    shares=True,
)
async def a_token_that_was_deleted(case: Case) -> None:
    await case.installed()
    await case.delete_tokens(*await case.service.token_names())
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.expect_error(await case.service.call("GET", zones))
    await case.expect_error(await case.service.call("GET", zones))
    await case.renewed()


@row("token_refused", "account.error", details=REFUSED, state="permission_error", timing=QUICK)
async def a_valid_token_that_is_refused_for_a_while(case: Case) -> None:
    await case.installed()
    await case.refuse("*", status=401, code=1000)
    await case.expect_error()
    await case.expect_error()
    await case.emulator.clear_faults()


@row("permission_error", "account.error", details=REFUSED, state="permission_error", timing=QUICK)
async def a_permission_that_is_restored(case: Case) -> None:
    await case.installed()
    policies = (await case.service.held())["tokens"][(await case.service.account()).token_id]["policies"]
    await case.customer_api.edit_token(without=("D1 Write",))
    await case.expect_error()
    assert (await case.post("/check")).body["findings"][0]["remedy"]
    await case.expect_error()
    await case.customer_api.edit_token(policies=policies)


@row("permission_error", "account.error", details=REFUSED, state="permission_error", timing=QUICK)
async def a_lost_permission_and_a_renewal(case: Case) -> None:
    await case.installed()
    await case.customer_api.edit_token(without=("Workers Scripts Write",))
    await case.expect_error()
    await case.install("connected")
    await case.expect_error(state="connected")
    await case.renewed()
    await case.install("ready")


@row(
    "permission_error", "account.error", state="permission_error", resources=INSTALLED._replace(routes=1), timing=QUICK
)
async def a_zone_that_the_token_no_longer_sees(case: Case) -> None:
    """With this problem, Cloudflare refuses no calls, but lists fewer zones."""
    await case.installed()
    await case.active_site()
    policies = (await case.service.held())["tokens"][(await case.service.account()).token_id]["policies"]
    await case.customer_api.edit_token(without=("Zone Read",))
    await case.start()  # restart the service, because the first health check after a start is thorough
    await case.expect_error()
    refused = await case.put_link_host(f"go.{case.zone}")
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "permission_error")
    await case.expect_error()
    await case.customer_api.edit_token(policies=policies)


@row("permission_error", "response", "account.error", details=REFUSED, state="permission_error", timing=QUICK)
async def a_request_that_needs_a_lost_permission(case: Case) -> None:
    await case.installed()
    await case.refuse("/zones", status=403, code=10000)
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.expect_error(await case.service.call("GET", zones))
    await case.expect_error(await case.service.call("GET", zones))
    refused = await case.add_site(case.zone)
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "permission_error")
    await case.emulator.clear_faults()


async def replace_key_file(case: Case) -> None:
    """Replace the service's key file."""
    await case.installed()
    await case.stop()
    key_file = case.place.folder / "vault.key"
    key_file.rename(case.place.folder / "right.key")
    await case.start()


@row("credentials_unreadable", "response", "account.error", state="permission_error", timing=QUICK)
async def a_key_file_that_is_restored(case: Case) -> None:
    await replace_key_file(case)
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.expect_error(await case.service.call("GET", zones))
    await case.expect_error(await case.service.call("GET", zones))
    await case.stop()
    (case.place.folder / "right.key").rename(case.place.folder / "vault.key")
    await case.start()


@row("credentials_unreadable", "account.error", state="permission_error", timing=QUICK)
async def a_key_file_that_is_lost_and_a_renewal(case: Case) -> None:
    await replace_key_file(case)
    await case.expect_error()
    await case.install("connected")
    await case.expect_error(state="connected")
    await case.renewed()
    await case.install("ready")
