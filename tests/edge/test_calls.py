"""Tests of retries and errors of API calls with injected faults."""

from __future__ import annotations

import logging
import random
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from svc.config import EdgeConfig
from svc.edge import d1, routes, tokens, workers, zones
from svc.edge.access import Exchange
from svc.edge.client import open_edge
from svc.edge.responses import LONGEST_THROTTLE_S
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access
    from svc.edge.client import Edge

    Calls = Callable[[], Awaitable[list[tuple[str, str]]]]

LOST = ["drop_before", "drop_after", "html"]


@pytest.mark.parametrize("kind", ["drop_before", "drop_after", "html", "throttle"])
async def test_failed_read_is_retried(access: Access, emulator: Emulator, calls: Calls, kind: str) -> None:
    await emulator.fault(kind, f"{access.account_path}/workers/*", times=2)
    assert await workers.get_script(access, "svc-edge") is None
    assert len(await calls()) == 3


@pytest.mark.parametrize("kind", LOST)
async def test_read_fails_after_all_retries(access: Access, emulator: Emulator, calls: Calls, kind: str) -> None:
    await emulator.fault(kind, f"{access.account_path}/workers/*", times=None)
    with pytest.raises(EdgeUnavailable) as caught:
        await workers.get_script(access, "svc-edge")
    assert type(caught.value) is EdgeUnavailable
    assert len(await calls()) == 4


@pytest.mark.parametrize(("kind", "made"), [("drop_before", 0), ("drop_after", 1), ("html", 0)])
async def test_create_without_response_is_not_retried(
    access: Access, emulator: Emulator, calls: Calls, kind: str, made: int
) -> None:
    await emulator.fault(kind, f"{access.account_path}/d1/database", method="POST")
    with pytest.raises(EdgeUnknown):
        await d1.create(access, "svc-edge")
    assert await calls() == [("POST", f"{access.account_path}/d1/database")]
    assert (await d1.find(access, "svc-edge") is not None) == bool(made)


@pytest.mark.rule("A4")
@pytest.mark.parametrize(("kind", "made"), [("drop_before", 0), ("drop_after", 1), ("html", 0)])
async def test_token_created_without_response_can_be_found_and_deleted(
    bootstrap: Access, emulator: Emulator, kind: str, made: int
) -> None:
    policies = tokens.policies_for(bootstrap.edge_account_id, await tokens.permission_groups(bootstrap))
    await emulator.fault(kind, f"{bootstrap.account_path}/tokens", method="POST")
    with pytest.raises(EdgeUnknown):
        await tokens.create(bootstrap, "svc-op_1", policies, 1_900_000_000_000)
    found = [token for token in await tokens.list_all(bootstrap) if token.name == "svc-op_1"]
    assert len(found) == made
    for token in found:
        assert await tokens.delete(bootstrap, token.id)
    assert "svc-op_1" not in {token.name for token in await tokens.list_all(bootstrap)}


async def test_route_created_without_response_can_be_found(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    zone_id = customer.zones[zone]
    await upload(access)
    await emulator.fault("drop_after", f"/zones/{zone_id}/workers/routes", method="POST")
    with pytest.raises(EdgeUnknown):
        await routes.create(access, zone_id, f"{zone}/x*", "svc-edge", fail_open=True)
    assert [(route.pattern, route.script) for route in await routes.list_routes(access, zone_id)] == [
        (f"{zone}/x*", "svc-edge")
    ]


async def test_deletion_without_response_is_retried(access: Access, emulator: Emulator, calls: Calls) -> None:
    database = await d1.create(access, "svc-edge")
    await emulator.forget_requests()
    await emulator.fault("drop_after", f"{access.account_path}/d1/*", method="DELETE")
    assert await d1.delete(access, database.id) is False  # the retry finds that the database no longer exists
    assert len(await calls()) == 2
    assert await d1.get(access, database.id) is None


@pytest.mark.parametrize("fault", [{"kind": "refuse", "code": 7003}, {"kind": "html"}])
async def test_404_without_the_products_code_is_unavailable(
    access: Access, emulator: Emulator, fault: dict[str, Any]
) -> None:
    database = await d1.create(access, "svc-edge")
    path = f"{access.account_path}/d1/database/{database.id}"
    await emulator.fault(path=path, status=404, times=1, **fault)
    assert await d1.get(access, database.id) == database
    await emulator.fault(path=path, status=404, times=None, **fault)
    for function in (d1.get, d1.delete):
        with pytest.raises(EdgeUnavailable):
            await function(access, database.id)
    await emulator.clear_faults()
    assert await d1.get(access, database.id) == database


async def test_missing_token_is_detected_by_the_list(bootstrap: Access, emulator: Emulator, customer: Customer) -> None:
    token_id, _ = await emulator.create_token(customer.account_id)
    path = f"{bootstrap.account_path}/tokens/{token_id}"
    await emulator.fault("refuse", path, method="DELETE", status=404, code=4711, times=4)
    with pytest.raises(EdgeUnavailable):
        await tokens.delete(bootstrap, token_id)
    assert await tokens.delete(bootstrap, token_id) is True
    await emulator.fault("refuse", path, method="DELETE", status=404, code=4711, times=None)
    assert await tokens.delete(bootstrap, token_id) is False


@pytest.mark.parametrize("kind", LOST)
async def test_failed_upload_and_schedule_are_retried(access: Access, emulator: Emulator, kind: str) -> None:
    await emulator.fault(kind, f"{access.account_path}/workers/scripts/svc-edge", method="PUT")
    await emulator.fault(kind, f"{access.account_path}/workers/scripts/svc-edge/schedules", method="PUT")
    await upload(access)
    await workers.set_schedules(access, "svc-edge", ["* * * * *"])
    assert await workers.get_script(access, "svc-edge") is not None
    assert await schedules(access) == ["* * * * *"]


async def test_throttled_create_is_retried_after_the_requested_wait(
    access: Access, emulator: Emulator, calls: Calls
) -> None:
    await emulator.fault("throttle", f"{access.account_path}/d1/*", method="POST", delay_s=1)
    began = time.monotonic()
    await d1.create(access, "svc-edge")
    assert time.monotonic() - began >= 1
    assert len(await calls()) == 2


async def test_long_throttling_is_reported_immediately(access: Access, emulator: Emulator, calls: Calls) -> None:
    await emulator.fault("throttle", f"{access.account_path}/*", delay_s=300)
    with trio.fail_after(LONGEST_THROTTLE_S), pytest.raises(EdgeUnavailable) as caught:
        await workers.get_script(access, "svc-edge")
    assert (caught.value.retry_after_s, caught.value.remote_status) == (300, 429)
    assert len(await calls()) == 1


async def test_refusal_is_not_retried(access: Access, emulator: Emulator, calls: Calls) -> None:
    await emulator.fault("refuse", f"{access.account_path}/workers/*", status=400, code=10021)
    with pytest.raises(EdgeRefused) as caught:
        await workers.get_script(access, "svc-edge")
    assert (caught.value.code, caught.value.remote_code) == ("cloudflare_error", 10021)
    assert len(await calls()) == 1


async def test_slow_response_times_out(emulator: Emulator, customer: Customer, working_token: str) -> None:
    config = EdgeConfig(api_base_url=emulator.api, timeout_s=0.3, retries=1)
    async with open_edge(config, first_wait_s=0.01) as edge:
        access = edge.access(customer.account_id, working_token)
        await emulator.fault("slow", f"{access.account_path}/*", times=3, delay_s=3)
        with pytest.raises(EdgeUnavailable) as caught:
            await workers.get_script(access, "svc-edge")
        assert type(caught.value) is EdgeUnavailable
        with pytest.raises(EdgeUnknown):
            await d1.create(access, "svc-edge")


async def test_refused_connection_is_unavailable(unused_port: int) -> None:
    config = EdgeConfig(api_base_url=f"http://127.0.0.1:{unused_port}/client/v4", retries=2)
    async with open_edge(config, first_wait_s=0.01) as edge:
        with pytest.raises(EdgeUnavailable, match=r"cannot be reached \(ConnectError\)") as caught:
            await d1.create(edge.access("a" * 32, "t" * 40), "svc-edge")
    assert type(caught.value) is EdgeUnavailable


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A local port that is reserved for the test and refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.rule("A20")
async def test_missing_permission_is_permission_error(edge: Edge, emulator: Emulator, customer: Customer) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["Zone Read"])
    with pytest.raises(EdgeRefused) as caught:
        await workers.get_script(edge.access(customer.account_id, value), "svc-edge")
    assert caught.value.code == "permission_error"


@pytest.mark.rule("A20")
async def test_deleted_token_is_token_refused(
    edge: Edge, emulator: Emulator, customer: Customer, bootstrap: Access
) -> None:
    token_id, value = await emulator.create_token(customer.account_id, rights=["Workers Scripts Write"])
    access = edge.access(customer.account_id, value)
    assert await workers.get_script(access, "svc-edge") is None
    assert await tokens.delete(bootstrap, token_id)
    with pytest.raises(EdgeRefused) as caught:
        await workers.get_script(access, "svc-edge")
    assert caught.value.code == "token_refused"


@pytest.mark.rule("A25")
async def test_expired_token_is_revoked(edge: Edge, emulator: Emulator, customer: Customer) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["D1 Write"], expires_in_s=-1)
    with pytest.raises(EdgeRefused) as caught:
        await d1.find(edge.access(customer.account_id, value), "svc-edge")
    assert caught.value.code == "revoked"


async def test_refusal_is_inconclusive_if_the_token_check_fails(
    edge: Edge, emulator: Emulator, customer: Customer
) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["Zone Read"])
    access = edge.access(customer.account_id, value)
    await emulator.fault("html", f"{access.account_path}/tokens/verify", times=None)
    with pytest.raises(EdgeUnavailable):
        await workers.get_script(access, "svc-edge")


@pytest.mark.rule("A20")
@pytest.mark.parametrize(
    ("status", "code"), [(403, 10000), (403, 7403), (403, 10023), (403, 1234), (401, 1000), (403, 9109)]
)
async def test_transient_token_refusal_is_retried(
    access: Access, emulator: Emulator, calls: Calls, status: int, code: int
) -> None:
    await emulator.fault("refuse", f"{access.account_path}/workers/*", times=2, status=status, code=code)
    assert await workers.get_script(access, "svc-edge") is None
    assert len(await calls()) == 3
    await emulator.fault("refuse", f"{access.account_path}/d1/*", method="POST", status=status, code=code)
    assert (await d1.create(access, "svc-edge")).name == "svc-edge"


@pytest.mark.rule("A20")
async def test_transient_refusal_of_the_token_check_is_retried(
    edge: Edge, emulator: Emulator, customer: Customer
) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["Zone Read"])
    access = edge.access(customer.account_id, value)
    await emulator.fault("refuse", f"{access.account_path}/tokens/verify", status=401, code=1000)
    with pytest.raises(EdgeRefused) as caught:
        await workers.get_script(access, "svc-edge")
    assert caught.value.code == "permission_error"


async def test_slow_calls_of_a_user_do_not_block_others(
    emulator: Emulator, customer: Customer, working_token: str
) -> None:
    other = await emulator.create_account([])
    config = EdgeConfig(api_base_url=emulator.api, timeout_s=30, concurrency=4, concurrency_per_user=2)
    async with open_edge(config) as edge:
        slow = edge.access(customer.account_id, working_token, user_id=1)
        quick = edge.access(other.account_id, other.bootstrap_token, user_id=2)
        await emulator.fault("slow", f"{slow.account_path}/*", times=None, delay_s=30)
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(workers.get_script, slow, "svc-edge")
            await trio.testing.wait_all_tasks_blocked()
            with trio.fail_after(5):
                assert (await tokens.verify(quick)).status == "active"
            nursery.cancel_scope.cancel()


async def test_new_token_is_retried_while_it_settles(
    edge: Edge, emulator: Emulator, customer: Customer, calls: Calls
) -> None:
    rights = ["Workers Scripts Write", "D1 Write"]
    _, value = await emulator.create_token(customer.account_id, rights=rights)
    access = edge.access(customer.account_id, value)
    await emulator.fault("refuse", f"{access.account_path}/*", status=401, code=1000, times=None)
    with pytest.raises(EdgeRefused):
        await workers.get_script(access, "svc-edge")
    await emulator.clear_faults()
    await emulator.fault("refuse", f"{access.account_path}/*", status=401, code=1000, times=2)
    await emulator.forget_requests()
    settling = access.settling(20)
    assert (await tokens.verify(settling)).status == "active"
    assert await d1.find(settling, "svc-edge") is None
    assert len(await calls()) == 4


async def test_create_is_retried_while_the_token_settles(edge: Edge, emulator: Emulator, customer: Customer) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["D1 Write"], delay_ms=300)
    made = await d1.create(edge.access(customer.account_id, value).settling(20), "svc-edge")
    assert made.name == "svc-edge"


async def test_permission_missing_after_settling_is_permission_error(
    edge: Edge, emulator: Emulator, customer: Customer
) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["Zone Read"])
    with pytest.raises(EdgeRefused) as caught:
        await workers.get_script(edge.access(customer.account_id, value).settling(0.2), "svc-edge")
    assert caught.value.code == "permission_error"


@pytest.mark.rule("A2")
async def test_tokens_appear_neither_in_reprs_nor_errors_nor_logs(
    bootstrap: Access, customer: Customer, emulator: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = customer.bootstrap_token
    policies = tokens.policies_for(bootstrap.edge_account_id, await tokens.permission_groups(bootstrap))
    made = await tokens.create(bootstrap, "svc-op_1", policies, 1_900_000_000_000)
    value = made.value.get_secret_value()
    binding = workers.secret_binding("WORKER_KEY", "svcw_key")
    exchange = Exchange("POST", "/x", body={"key": value}, files={"f": (None, secret.encode(), "text/plain")})
    shown = [repr(exchange), repr(bootstrap), repr(made), repr(binding), str(vars(bootstrap))]
    quoting = f"Invalid format for Authorization header: {secret}"
    path = f"{bootstrap.account_path}/*"
    refused = emulator.fault("refuse", path, status=400, code=6003, message=quoting)
    for fault in (refused, emulator.fault("html", path, times=4)):
        await fault
        with pytest.raises((EdgeRefused, EdgeUnavailable)) as caught:
            await tokens.verify(bootstrap)
        shown += [str(caught.value), repr(caught.value), repr(caught.value.body()), repr(caught.value.__context__)]
    shown.append(caplog.text)
    for text in shown:
        assert secret not in text
        assert value not in text
        assert "svcw_key" not in text
    assert "Invalid format for Authorization header: …" in "".join(shown)
    assert "tokens/verify" in caplog.text  # this shows that debug logging was active


@pytest.mark.rule("A3")
@pytest.mark.parametrize(
    "pasted", ["", "two words", "line\r\nX-Evil: 1", "schlüssel", "\x00" * 40, "\ud800", "t" * 5000]
)
async def test_invalid_token_is_never_sent(edge: Edge, customer: Customer, calls: Calls, pasted: str) -> None:
    with pytest.raises(EdgeRefused) as caught:
        await tokens.verify(edge.access(customer.account_id, pasted))
    assert caught.value.code == "token_refused"
    assert not pasted or pasted not in str(caught.value)
    assert await calls() == []


async def test_cancelled_calls_release_their_slots(emulator: Emulator, customer: Customer, working_token: str) -> None:
    dice = random.Random(2026)
    # Every other response arrives after the caller's timeout.
    await emulator.set_failure_settings(rate_limit=0, slow_one_in=2, slow_ms=50)
    config = EdgeConfig(api_base_url=emulator.api, timeout_s=5, concurrency=4, retries=0)
    async with open_edge(config, first_wait_s=0.01) as edge:
        access = edge.access(customer.account_id, working_token)
        cancelled = 0

        async def impatient() -> None:
            nonlocal cancelled
            for _ in range(60):
                with trio.move_on_after(dice.uniform(0, 0.01)) as scope:
                    await zones.account_name(access)
                cancelled += scope.cancelled_caught

        async with trio.open_nursery() as nursery:
            for _ in range(12):
                nursery.start_soon(impatient)
        assert cancelled > 300
        await emulator.set_failure_settings(slow_one_in=0)

        async def patient() -> None:
            for _ in range(5):
                assert await zones.account_name(access) == "Customer"

        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for _ in range(12):
                    nursery.start_soon(patient)


async def upload(access: Access) -> None:
    """Upload a minimal Worker."""
    module = b"export default { fetch() { return new Response('hello'); } };"
    content = workers.Upload(module, "svc-edge.js", "2026-04-01", tags=("svc-account:acc_1",))
    await workers.upload(access, "svc-edge", content)


async def schedules(access: Access) -> list[str]:
    """Return the cron triggers of the minimal Worker."""
    found = await access.get(
        dict[str, list[dict[str, str]]], f"{access.account_path}/workers/scripts/svc-edge/schedules"
    )
    return [each["cron"] for each in found["schedules"]]
