"""Tests of /v1/accounts: the fields of accounts, and changes to accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.clock import DAY_MS, day_of
from svc.model import Advice, Measured, WorkerPush
from svc.store import accounts, pushes
from svc.store.advice import keep_advice
from svc.store.tx import sql
from svc.worker.bundle import load_bundle
from tests.cases import cases

if TYPE_CHECKING:
    from svc.store.tx import Tx

NOW = "2026-11-21T04:00:00.000Z"
ACCOUNT_FIELDS = [
    "id",
    "edge_account_id",
    "name",
    "location",
    "plan",
    "days_kept",
    "months_kept",
    "state",
    "token",
    "error",
    "edge",
    "push",
    "advice",
    "created_at",
]


def change(text: str, *parameters: str | int) -> Tx[None]:
    yield sql(text, *parameters)


@pytest.mark.rule("A21", "A22", "A23")
async def test_account_shows_the_installed_worker_and_its_last_push(world):
    _, session, account = await world.ready()
    await world.store.run(
        change(
            "update accounts set edge_bundle = $2, edge_schema = 1, installed_at = $3, token_name = 'svc-op_x',"
            " token_expires_at = $3, install_id = 'op_x' where id = $1",
            account.id,
            load_bundle().sha256,
            world.clock(),
        )
    )
    pushed = WorkerPush(world.clock(), "b" * 64, 1, 3, "push: no response", {"budget": 2, "busy": 1}, "op_x")
    await world.store.run(pushes.record_pushes([(account.id, pushed)]))
    shown = (await world.call("GET", f"/v1/accounts/{account.id}", headers=session)).body["account"]
    assert shown["token"] == {"name": "svc-op_x", "expires_at": NOW}
    assert shown["edge"] == {"bundle": load_bundle().sha256, "up_to_date": True, "schema": 1, "installed_at": NOW}
    dropped = {"budget": 2, "invalid": 0, "unknown_target": 0, "too_old": 0, "busy": 1, "expired": 0}
    assert shown["push"] == {
        "at": NOW,
        "bundle": "b" * 64,
        "schema": 1,
        "queue": 3,
        "error": "push: no response",
        "dropped": dropped,
    }
    assert shown["operation"] == {"kind": "connect", "state": "done", "step": "token", "error": None, "updated_at": NOW}
    assert shown["link_host"] == {
        "host": "go.example.com",
        "state": "route_pending",
        "config": "pending",
        "live_at": None,
        "root_url": None,
        "not_found_url": None,
        "error": None,
    }
    (listed,) = (await world.call("GET", "/v1/accounts", headers=session)).body["accounts"]
    assert list(listed) == ACCOUNT_FIELDS
    await world.store.run(change("update accounts set edge_bundle = 'older' where id = $1", account.id))
    (listed,) = (await world.call("GET", "/v1/accounts", headers=session)).body["accounts"]
    assert listed["edge"]["up_to_date"] is False


@pytest.mark.rule("A24", "G5")
async def test_name_and_plan_of_an_account_can_be_changed(world):
    _, session, account = await world.ready()
    path = f"/v1/accounts/{account.id}"

    async def change(body):
        response = await world.call("PATCH", path, body, headers=session)
        assert response.status == 200, response.raw
        assert response.body["account"] == {
            name: value
            for name, value in (await world.call("GET", path, headers=session)).body["account"].items()
            if name in ACCOUNT_FIELDS
        }
        return response.body["account"]["name"], response.body["account"]["plan"]

    assert await change({}) == (account.name, "free")
    assert await change({"plan": "paid"}) == (account.name, "paid")
    assert await change({"name": "Läden \U0001f6d2"}) == ("Läden \U0001f6d2", "paid")
    assert await change({"name": None, "plan": None}) == ("Läden \U0001f6d2", "paid")
    assert await change({"name": "n" * 100, "plan": "free"}) == ("n" * 100, "free")


@pytest.mark.rule("G5")
@cases(
    "wrong",
    [{"plan": "enterprise"}, {"plan": ""}, {"name": ""}, {"name": "  "}, {"name": "n" * 101}, {"name": "a\nb"},
     {"name": "\x00"}, {"name": 7}, {"state": "ready"}],
)  # fmt: skip
async def test_invalid_name_or_plan_changes_nothing(world, ready, wrong):
    _, session, account = ready
    path = f"/v1/accounts/{account.id}"
    assert (await world.call("PATCH", path, {"plan": "paid", **wrong}, headers=session)).code == "invalid_request"
    shown = (await world.call("GET", path, headers=session)).body["account"]
    assert (shown["name"], shown["plan"]) == (account.name, "free")


@pytest.mark.rule("W5", "G5")
async def test_days_kept_can_be_changed_alone_and_with_name_and_plan(world):
    _, session, account = await world.ready()
    path = f"/v1/accounts/{account.id}"

    async def change(body):
        response = await world.call("PATCH", path, body, headers=session)
        assert response.status == 200, response.raw
        shown = (await world.call("GET", path, headers=session)).body["account"]
        [listed] = (await world.call("GET", "/v1/accounts", headers=session)).body["accounts"]
        assert response.body["account"] == listed == {name: shown[name] for name in listed}
        stored = await world.store.read(accounts.account_by_id(account.id))
        return shown["days_kept"], shown["name"], shown["plan"], stored.config_version

    *_, begin = unchanged = await change({})
    assert unchanged == (35, account.name, "free", begin)
    assert await change({"days_kept": 35}) == (35, account.name, "free", begin)
    assert await change({"days_kept": 14}) == (14, account.name, "free", begin + 1)
    assert await change({"days_kept": 14}) == (14, account.name, "free", begin + 1)
    assert await change({"days_kept": None, "plan": "paid"}) == (14, account.name, "paid", begin + 2)
    assert await change({"days_kept": 20, "name": "Shop", "plan": "free"}) == (20, "Shop", "free", begin + 3)
    assert await change({"days_kept": 35}) == (35, "Shop", "free", begin + 4)


@pytest.mark.rule("W5", "G5")
@cases("wrong", [13, 36, 0, -14, 14.5, "14", "", True, [14], {"days": 14}, 10**30])
async def test_invalid_days_kept_change_nothing(world, ready, wrong):
    _, session, account = ready
    path = f"/v1/accounts/{account.id}"
    response = await world.call("PATCH", path, {"name": "Other", "days_kept": wrong}, headers=session)
    assert (response.status, response.code) == (400, "invalid_request")
    [issue] = response.body["error"]["details"]["issues"]
    assert issue["path"] == "days_kept"
    if wrong in (13, 36):
        bound = {13: ("too_small", 14), 36: ("too_large", 35)}[wrong]
        assert (issue["code"], issue["limit"]) == bound
    shown = (await world.call("GET", path, headers=session)).body["account"]
    assert (shown["name"], shown["days_kept"]) == (account.name, 35)


@pytest.mark.rule("W5", "G5")
async def test_months_kept_can_be_changed_alone_and_with_days_kept(world):
    _, session, account = await world.ready()
    path = f"/v1/accounts/{account.id}"

    async def change(body):
        response = await world.call("PATCH", path, body, headers=session)
        assert response.status == 200, response.raw
        shown = (await world.call("GET", path, headers=session)).body["account"]
        assert response.body["account"]["months_kept"] == shown["months_kept"]
        stored = await world.store.read(accounts.account_by_id(account.id))
        return shown["days_kept"], shown["months_kept"], stored.config_version

    *_, begin = unchanged = await change({})
    assert unchanged == (35, "forever", begin)
    assert await change({"months_kept": "forever"}) == (35, "forever", begin)
    assert await change({"months_kept": 6}) == (35, 6, begin + 1)
    assert await change({"months_kept": 6, "days_kept": 35}) == (35, 6, begin + 1)
    assert await change({"months_kept": None, "days_kept": 20}) == (20, 6, begin + 2)
    assert await change({"months_kept": 1_200, "days_kept": 14}) == (14, 1_200, begin + 3)
    assert await change({"months_kept": "forever", "name": "Shop"}) == (14, "forever", begin + 4)


@pytest.mark.rule("W5", "G5")
@cases(
    "wrong", [5, 1_201, 0, -6, 6.5, "6", "", "Forever", "forever ", True, False, [6], {"months": 6}, 10**30, -(10**30)]
)
async def test_invalid_months_kept_change_nothing(world, ready, wrong):
    _, session, account = ready
    path = f"/v1/accounts/{account.id}"
    response = await world.call("PATCH", path, {"name": "Other", "months_kept": wrong}, headers=session)
    assert (response.status, response.code) == (400, "invalid_request")
    [issue] = response.body["error"]["details"]["issues"]
    assert issue["path"] == "months_kept"
    if wrong in (5, 1_201):
        assert (issue["code"], issue["limit"]) == {5: ("too_small", 6), 1_201: ("too_large", 1_200)}[wrong]
    shown = (await world.call("GET", path, headers=session)).body["account"]
    assert (shown["name"], shown["months_kept"]) == (account.name, "forever")


@pytest.mark.rule("A20")
@cases("state", ["pending", "connected", "resource_drift", "revoked", "no_connection"])
async def test_days_kept_can_be_changed_in_any_state(world, ready, state):
    _, session, account = ready
    await world.store.run(change("update accounts set state = $2 where id = $1", account.id, state))
    body = {"days_kept": 14, "months_kept": 12}
    response = await world.call("PATCH", f"/v1/accounts/{account.id}", body, headers=session)
    assert (response.status, response.body["account"]["days_kept"]) == (200, 14)
    assert response.body["account"]["months_kept"] == 12


@pytest.mark.rule("A24")
async def test_shorter_retention_is_suggested_only_above_the_minimum(world):
    _, session, account = await world.ready()
    path = f"/v1/accounts/{account.id}"
    size = Measured("over", 500_000_000, 450_000_000, 20_000, None)
    advice = Advice(world.clock(), "over", "size", {"size": size}, suggest="shorter_hourly_retention")
    await world.store.run(keep_advice(account.id, advice, "free", world.clock() + 1))
    for days, suggested in ((35, True), (15, True), (14, False), (20, True)):
        response = await world.call("PATCH", path, {"days_kept": days}, headers=session)
        shown = response.body["account"]["advice"]
        assert shown["suggest"] == ("shorter_hourly_retention" if suggested else None), days
        # the change does not affect the advice about the size
        assert (shown["level"], shown["metric"]) == ("over", "size")
        assert (await world.call("GET", path, headers=session)).body["account"]["advice"] == shown


@pytest.mark.rule("A24")
@cases("growing", [False, True])
async def test_fewer_months_are_suggested_if_the_size_grows_or_no_fewer_days_are_possible(world, ready, growing):
    _, session, account = ready
    path = f"/v1/accounts/{account.id}"
    forecast = day_of(account.created_at) + 320 if growing else None

    async def suggested(age_days, days, months):
        at = account.created_at + age_days * DAY_MS
        size = Measured("over", 500_000_000, 450_000_000, day_of(at), forecast)
        advice = Advice(at, "over", "size", {"size": size}, suggest="shorter_hourly_retention")
        await world.store.run(keep_advice(account.id, advice, "free", at + 1))
        body = {"days_kept": days, "months_kept": months}
        return (await world.call("PATCH", path, body, headers=session)).body["account"]["advice"]["suggest"]

    # An account of this age has at most six months before the current month, so fewer months would save nothing.
    assert await suggested(200, 35, "forever") == "shorter_hourly_retention"
    assert await suggested(200, 14, "forever") is None
    with_both = "shorter_month_retention" if growing else "shorter_hourly_retention"
    assert await suggested(300, 35, "forever") == with_both
    assert await suggested(300, 35, 7) == with_both
    assert await suggested(300, 35, 6) == "shorter_hourly_retention"
    assert await suggested(300, 14, "forever") == "shorter_month_retention"
    assert await suggested(300, 14, 6) is None


@pytest.mark.rule("A24")
async def test_changed_plan_removes_the_advice_and_the_same_plan_keeps_it(world):
    _, session, account = await world.ready()
    path = f"/v1/accounts/{account.id}"
    requests = Measured("watch", 100_000, 61_000, 20_000, 20_020)
    advice = Advice(world.clock(), "watch", "requests", {"requests": requests}, ("size",))
    await world.store.run(keep_advice(account.id, advice, "free", world.clock() + 1))
    shown = (await world.call("PATCH", path, {"plan": "free", "name": "Shop"}, headers=session)).body["account"]
    assert shown["advice"] == {
        "level": "watch",
        "metric": "requests",
        "metrics": {
            "requests": {
                "level": "watch",
                "limit": 100_000,
                "busiest": {"day": "2024-10-04", "value": 61_000},
                "forecast": "2024-10-24",
            }
        },
        "unavailable": ["size"],
        "suggest": None,
        "at": NOW,
    }
    # The repeat with the same key gets the first response, although the account has changed since then.
    keyed = {**session, "Idempotency-Key": "paid"}
    first = await world.call("PATCH", path, {"plan": "paid"}, headers=keyed)
    assert (first.body["account"]["plan"], first.body["account"]["advice"]) == ("paid", None)
    await world.call("PATCH", path, {"plan": "free"}, headers=session)
    again = await world.call("PATCH", path, {"plan": "paid"}, headers=keyed)
    assert again.raw == first.raw
    assert (await world.call("GET", path, headers=session)).body["account"]["plan"] == "free"


@pytest.mark.rule("A24")
async def test_changing_the_plan_requires_access_to_the_account(world):
    user, _, account = await world.ready()
    path = f"/v1/accounts/{account.id}"
    stranger = await world.session(await world.user())
    assert (await world.call("PATCH", path, {"plan": "paid"}, headers=stranger)).code == "not_found"
    elsewhere = await world.key(user, "accounts", allow_accounts=("f" * 32,))
    assert (await world.call("PATCH", path, {"plan": "paid"}, headers=elsewhere)).code == "not_found"
    reader = await world.key(user, "sites", "links", "reports")
    assert (await world.call("PATCH", path, {"plan": "paid"}, headers=reader)).code == "scope_required"
