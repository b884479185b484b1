"""Tests that log lines from an account's task contain the account, the operation and the request."""

from __future__ import annotations

import json

import pytest

from tests.secrecy import log_lines


@pytest.mark.rule("X14")
async def test_log_lines_contain_account_operation_and_request(service):
    # The first upload gets no response. The bootstrap token cannot be deleted.
    await service.emulator.fault("drop_before", "*/workers/scripts/svc-edge", method="PUT", times=2)
    await service.emulator.fault("refuse", "*/tokens/*", method="DELETE", times=None)
    with log_lines() as lines:
        response = await service.connect()
        assert response.status == 202
        shown = await service.settled("ready")
    found = [json.loads(text) for text in lines]
    edge = service.customer.account_id
    [waits, *_] = [one for one in found if one["message"] == "operation delayed"]
    assert (waits["account"], waits["operation"]) == (shown["id"], (await service.account()).install_id)
    assert (waits["edge_account"], "request" in waits) == (edge, False)
    [kept, *_] = [one for one in found if one["message"] == "bootstrap token not deleted"]
    assert (kept["request"], kept["account"]) == (response.headers["X-Request-Id"], shown["id"])
    assert kept["operation"].startswith("op_")
    [request] = [one for one in found if one["message"] == "request" and one["method"] == "POST"]
    assert (request["request"], request["route"], request["status"]) == (kept["request"], "/v1/accounts", 202)
