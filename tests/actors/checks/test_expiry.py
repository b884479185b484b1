"""Tests of the expiry of the working token: a warning 14 days before, and an error once the token has expired."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import eventually
from svc.clock import DAY_MS, iso
from svc.config import TimingConfig
from svc.store import account_health, account_schedule, working_tokens
from svc.store.tx import sql
from tests.actors.checks.test_health_check import CustomerApi, check
from tests.store.direct_changes import set_account_state

BOOTSTRAP = ["Account Settings Read", "Account API Tokens Write"]


async def shows(service, state, *warnings):
    async def poll():
        account = await service.account()
        return account if (account.state, account.warnings) == (state, warnings) else None

    return await eventually(poll)


async def installed(service):
    await service.ready()
    await service.confirmed()
    # wait until the duties after the first check have run, because they could overwrite the test's changes to the store
    await service.idle()
    service.clock.advance_s(1)
    return await service.account()


def ends_at(account_id, at):
    yield sql("update accounts set token_expires_at = $2 where id = $1", account_id, at)


async def shown_after_check(service):
    """Request a health check, and return the account as the API shows it afterwards."""
    await check(service)
    await service.idle()
    return await service.shown()


@pytest.mark.rule("A25")
async def test_warning_appears_14_days_before_expiry_and_a_renewal_clears_it(service):
    account = await installed(service)
    assert account.token_expires_at == pytest.approx(service.clock() + 365 * DAY_MS, abs=60_000)
    await service.store.run(ends_at(account.id, service.clock() + 14 * DAY_MS + 60_000))
    service.supervisor.wake(account.edge_account_id)
    await service.idle()
    assert (await service.account()).warnings == ()
    service.clock.now_ms += 60_000
    service.supervisor.wake(account.edge_account_id)
    await service.idle()
    await shows(service, "ready", "token_expires_soon")
    shown = await service.shown()
    assert shown["error"] == {"warnings": ["token_expires_soon"]}
    assert shown["token"]["expires_at"]

    _, token = await service.emulator.create_token(account.edge_account_id, rights=BOOTSTRAP)
    response = await service.call("POST", f"/v1/accounts/{account.id}/token", {"bootstrap_token": token})
    assert (response.status, response.body["account"]["error"]) == (200, None)
    await service.idle()
    renewed = await shows(service, "ready")
    assert renewed.token_expires_at == pytest.approx(service.clock() + 365 * DAY_MS, abs=60_000)


@pytest.mark.rule("A25")
async def test_expiry_is_noticed_on_time_without_a_health_check(place):
    place.timing |= {"health_every_s": 86_400}
    async with place.running() as service:
        account = await installed(service)
        await service.store.run(ends_at(account.id, service.clock() + 1500))
        service.supervisor.wake(account.edge_account_id)
        await service.idle()
        await shows(service, "ready", "token_expires_soon")
        await CustomerApi(service).expire_token()
        # move the clock past the due time; the duty must run although nothing else happens
        service.clock.advance_s(1.5)
        ended = await shows(service, "revoked")
        assert (ended.error.code, ended.error.finding["kind"]) == ("revoked", "token_expired")


@pytest.mark.rule("A25")
async def test_expiry_while_the_service_is_down_is_noticed_at_the_next_start(place):
    async with place.running() as service:
        account = await installed(service)
        await service.store.run(ends_at(account.id, service.clock() + 3000))
        service.supervisor.wake(account.edge_account_id)
        await service.idle()
    place.timing |= {"health_every_s": 86_400}
    place.clock.advance_s(2)
    async with place.running() as service:
        await shows(service, "ready", "token_expires_soon")
        await CustomerApi(service).expire_token()
        place.clock.advance_s(1)
        await shows(service, "revoked")


@pytest.mark.rule("A25")
async def test_account_without_a_worker_is_warned_and_revoked_as_well(service):
    await service.emulator.fault("refuse", "*/d1/database", method="POST", times=None, status=400, code=1)
    await service.connect()
    await service.settled("connected")
    account = await service.account()
    await service.store.run(ends_at(account.id, service.clock() + DAY_MS))
    service.supervisor.wake(account.edge_account_id)
    await shows(service, "connected", "token_expires_soon")
    await CustomerApi(service).expire_token()
    service.clock.now_ms += DAY_MS
    service.supervisor.wake(account.edge_account_id)
    await shows(service, "revoked")


@pytest.mark.rule("A25")
async def test_account_stays_ready_if_the_user_has_extended_the_expiry(service):
    account = await installed(service)
    extended_to = account.token_expires_at
    await service.store.run(ends_at(account.id, service.clock() + 1000))
    service.supervisor.wake(account.edge_account_id)
    await shows(service, "ready", "token_expires_soon")
    service.clock.advance_s(1)

    async def reads_the_expiry():
        return (await service.account()).token_expires_at == extended_to or None

    await eventually(reads_the_expiry)
    await service.idle()
    await shows(service, "ready")


@pytest.mark.rule("A25")
async def test_health_check_reads_a_changed_expiry(service):
    account = await installed(service)
    customer_api = CustomerApi(service)
    soon_at = service.clock() // 1000 * 1000 + 10 * DAY_MS
    await customer_api.edit_token(expires_on=iso(soon_at))
    shown = await shown_after_check(service)
    assert (shown["error"], shown["token"]["expires_at"]) == ({"warnings": ["token_expires_soon"]}, iso(soon_at))

    later_at = soon_at + DAY_MS
    await customer_api.edit_token(expires_on=iso(later_at))
    shown = await shown_after_check(service)
    assert (shown["error"], shown["token"]["expires_at"]) == ({"warnings": ["token_expires_soon"]}, iso(later_at))

    await customer_api.edit_token(expires_on=None)
    shown = await shown_after_check(service)
    assert (shown["state"], shown["error"]) == ("ready", None)
    assert shown["token"] == {"name": account.token_name, "expires_at": "9999-12-31T23:59:59.000Z"}


@pytest.mark.rule("A25")
async def test_account_recovers_if_the_user_extends_an_expired_token(service):
    account = await installed(service)
    await CustomerApi(service).expire_token()
    assert (await shown_after_check(service))["state"] == "revoked"
    await CustomerApi(service).edit_token(expires_on=iso(service.clock() + 100 * DAY_MS))
    shown = await shown_after_check(service)
    assert (shown["state"], shown["error"]) == ("ready", None)
    assert (await service.account()).token_id == account.token_id


@pytest.mark.rule("A25")
async def test_expiry_is_recorded_only_after_cloudflare_confirms_it(place, caplog):
    place.timing |= {"health_every_s": 86_400, "recheck_s": 0.1}
    async with place.running() as service:
        account = await installed(service)
        await service.store.run(ends_at(account.id, service.clock() + 1000))
        await CustomerApi(service).expire_token()
        await service.emulator.fault("drop_before", "*/tokens/verify", times=None)
        with caplog.at_level("INFO", "svc.actors.checks.expiry"):
            service.clock.advance_s(1)
            service.supervisor.wake(account.edge_account_id)

            async def asked():
                return any(record.message == "expiry unknown" for record in caplog.records) or None

            await eventually(asked)
        assert (await service.account()).state == "ready"
        await service.emulator.clear_faults()
        await shows(service, "revoked")


@pytest.mark.rule("A25")
async def test_expiry_of_a_replaced_token_is_not_stored(service):
    account = await installed(service)
    await service.store.run(working_tokens.set_expiry(account.id, "another token", 1, service.clock()))
    assert (await service.account()).token_expires_at == account.token_expires_at


@pytest.mark.rule("A25")
@pytest.mark.parametrize(
    ("state", "left_days", "warned", "due_in_days"),
    [("ready", 100, False, 86), ("ready", 10, False, -4), ("ready", 10, True, 10), ("revoked", -1, False, None)],
)
async def test_start_schedules_token_expiry(service, state, left_days, warned, due_in_days):
    account = await installed(service)
    now = service.clock()
    await service.store.run(ends_at(account.id, now + left_days * DAY_MS))
    if warned:
        await service.store.run(account_health.warn(account.id, "token_expires_soon"))
    await service.store.run(set_account_state(account.id, state))
    [due] = await service.store.read(account_schedule.due_times(TimingConfig(silent_after_s=365 * 86_400)))
    assert due.at == (None if due_in_days is None else now + due_in_days * DAY_MS)
