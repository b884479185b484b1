"""Tests that client-side rate limits prevent Cloudflare from blocking a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.config import EdgeConfig
from svc.edge import workers, zones
from svc.edge.client import open_edge
from svc.errors import EdgeUnavailable

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access

CALLS = 40
PER_SECOND = 50
KEPT = 5


@pytest.mark.rule("A20")
async def test_token_limit_is_never_exceeded_and_user_requests_have_a_reserve(
    emulator: Emulator, customer: Customer, working_token: str
) -> None:
    await emulator.set_failure_settings(rate_limit=CALLS)
    config = EdgeConfig(api_base_url=emulator.api, calls_per_token=CALLS, retries=2)
    refused: list[EdgeUnavailable] = []

    async def call(access: Access) -> None:
        try:
            await workers.get_script(access, "svc-edge")
        except EdgeUnavailable as error:
            refused.append(error)

    async def call_repeatedly(access: Access, number: int) -> int:
        """Make `number` calls, and return the number of calls that were sent."""
        await emulator.forget_requests()
        refused.clear()
        async with trio.open_nursery() as nursery:
            for _ in range(number):
                nursery.start_soon(call, access)
        sent = await emulator.requests()
        assert {one["status"] for one in sent} <= {200}
        assert len(sent) + len(refused) == number
        assert all(error.retry_after_s and 200 < error.retry_after_s <= 310 for error in refused)
        return len(sent)

    async with open_edge(config, first_wait_s=0.01) as edge:
        duties = edge.access(customer.account_id, working_token)
        assert await call_repeatedly(duties, 2 * CALLS) == CALLS - KEPT
        assert await call_repeatedly(duties.awaited(), 2 * CALLS) == KEPT
        # Each token has a separate limit.
        own = edge.access(customer.account_id, customer.bootstrap_token)
        assert await zones.account_name(own) == "Customer"


async def test_emulator_blocks_the_token_without_client_side_limit(
    emulator: Emulator, customer: Customer, working_token: str
) -> None:
    await emulator.set_failure_settings(rate_limit=CALLS)
    async with open_edge(EdgeConfig(api_base_url=emulator.api, retries=0), first_wait_s=0.01) as edge:
        access = edge.access(customer.account_id, working_token)
        for _ in range(CALLS):
            await workers.get_script(access, "svc-edge")
        with pytest.raises(EdgeUnavailable) as blocked:
            await workers.get_script(access, "svc-edge")
        assert blocked.value.remote_status == 429
        assert blocked.value.retry_after_s == 300


async def test_calls_per_second_are_limited_across_users(
    emulator: Emulator, customer: Customer, working_token: str
) -> None:
    config = EdgeConfig(
        api_base_url=emulator.api, concurrency=64, concurrency_per_account=64, calls_per_second=PER_SECOND
    )
    sent_at: list[float] = []
    async with open_edge(config) as edge:
        send = edge._send_and_receive

        async def record_and_send(*arguments: Any) -> Any:
            sent_at.append(trio.current_time())
            return await send(*arguments)

        edge._send_and_receive = record_and_send  # type: ignore[method-assign, assignment]
        async with trio.open_nursery() as nursery:
            for user_id in range(CALLS):
                access = edge.access(customer.account_id, working_token, user_id)
                nursery.start_soon(workers.get_script, access, "svc-edge")
    # The interval is kept even on a slow machine, because the client does not send calls faster after a delay.
    assert len(sent_at) == CALLS
    assert all(later - before >= 9 / PER_SECOND - 0.001 for before, later in zip(sent_at, sent_at[10:], strict=False))
