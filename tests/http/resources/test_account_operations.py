"""Tests of the requests that connect accounts, renew working tokens and install the Worker."""

from __future__ import annotations

import pytest

from svc.api.openapi import document
from svc.errors import ServiceError
from svc.security.token_page import TOKEN_PAGE
from tests.http.conftest import EDGE_ACCOUNT
from tests.http.resources.test_accounts import ACCOUNT_FIELDS, NOW


@pytest.mark.rule("G6")
@pytest.mark.rule("A1")
async def test_connect_returns_202_with_the_account(world):
    session = await world.session(await world.user())
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "boot-token"}
    response = await world.call("POST", "/v1/accounts", body, headers=session)
    assert (response.status, list(response.body)) == (202, ["account"])
    account = response.body["account"]
    assert list(account) == ACCOUNT_FIELDS
    assert (account["state"], account["edge"], account["push"], account["advice"]) == ("pending", None, None, None)
    assert account["created_at"] == NOW
    assert b"boot-token" not in response.raw
    polled = await world.call("GET", f"/v1/accounts/{account['id']}", headers=session)
    assert list(polled.body["account"]) == [*ACCOUNT_FIELDS, "operation", "link_host"]


async def test_connect_names_the_account(world):
    session = {**await world.session(await world.user()), "Idempotency-Key": "one"}
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "t", "name": "Läden & Co"}
    response = await world.call("POST", "/v1/accounts", body, headers=session)
    assert response.body["account"]["name"] == "Läden & Co"
    again = await world.call("POST", "/v1/accounts", body, headers=session)
    assert (again.status, again.body) == (202, response.body)
    other = await world.call("POST", "/v1/accounts", {**body, "name": "Shop"}, headers=session)
    assert other.code == "idempotency_conflict"


@pytest.mark.parametrize("name", ["", " ", "a" * 101, "line\nbreak", 7, ["Shop"]])
async def test_invalid_name_is_rejected_before_the_connect(world, name):
    session = await world.session(await world.user())
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "t", "name": name}
    response = await world.call("POST", "/v1/accounts", body, headers=session)
    assert (response.status, response.code) == (400, "invalid_request")
    assert [issue["path"] for issue in response.body["error"]["details"]["issues"]] == ["name"]
    assert world.supervisor.asked == []


@pytest.mark.rule("A1")
async def test_connect_requires_a_confirmed_address(world):
    session = await world.session(await world.user(confirmed=False))
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "t"}
    response = await world.call("POST", "/v1/accounts", body, headers=session)
    assert (response.status, response.code) == (403, "email_unconfirmed")
    assert world.supervisor.asked == []


@pytest.mark.rule("A1")
@pytest.mark.parametrize("wrong", ["", "0" * 31, "0" * 33, "G" * 32, "A" * 32, f"{'0' * 32}\n", "\u0660" * 32])
async def test_edge_account_id_must_be_32_lowercase_hex_characters(world, wrong):
    session = await world.session(await world.user())
    body = {"edge_account_id": wrong, "bootstrap_token": "t"}
    assert (await world.call("POST", "/v1/accounts", body, headers=session)).code == "invalid_request"


@pytest.mark.rule("C13")
async def test_connect_to_a_full_service_gets_503(world):
    session = await world.session(await world.user())
    world.supervisor.refusal = ServiceError("service_full")
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "t"}
    response = await world.call("POST", "/v1/accounts", body, headers=session)
    assert (response.status, response.code) == (503, "service_full")


@pytest.mark.rule("G6")
async def test_install_returns_202_with_the_account(world):
    _, session, account = await world.ready()
    response = await world.call("POST", f"/v1/accounts/{account.id}/install", headers=session)
    assert (response.status, response.body["account"]["state"]) == (202, "installing")
    assert list(response.body["account"]) == ACCOUNT_FIELDS


@pytest.mark.rule("A10")
async def test_second_operation_is_refused_while_one_is_in_progress(world):
    _, session, account = await world.ready()
    assert (await world.call("POST", f"/v1/accounts/{account.id}/install", headers=session)).status == 202
    again = await world.call("POST", f"/v1/accounts/{account.id}/install", headers=session)
    assert (again.status, again.code) == (409, "operation_in_progress")


@pytest.mark.rule("A16", "A2")
async def test_renewal_returns_the_account_and_requires_the_scope(world):
    user, session, account = await world.ready()
    path, body = f"/v1/accounts/{account.id}/token", {"bootstrap_token": "boot-token"}
    response = await world.call("POST", path, body, headers=session)
    assert (response.status, list(response.body["account"])) == (200, ACCOUNT_FIELDS)
    assert world.supervisor.asked == ["renew boot-token"]
    assert b"boot-token" not in response.raw
    other = await world.call("POST", path, body, headers=await world.session(await world.user()))
    assert (other.status, other.code) == (404, "not_found")
    key = await world.key(user, "sites", "links", "reports")
    assert (await world.call("POST", path, body, headers=key)).code == "scope_required"
    assert (await world.call("POST", path, {}, headers=session)).code == "invalid_request"


def test_contract_has_the_token_page():
    paths = document("https://svc.example")["paths"]
    pages = {path: each["x-token-page"] for path in paths for each in paths[path].values() if "x-token-page" in each}
    assert pages == {"/v1/accounts": TOKEN_PAGE, "/v1/accounts/{account_id}/token": TOKEN_PAGE}
