"""The running service matches its OpenAPI document, and its responses contain only documented data."""

from __future__ import annotations

import pytest

from edge_worker.harness.sampling import EVERYTHING
from tools.fuzz.callers import KINDS
from tools.fuzz.contract import OPERATIONS, counted, fuzz

EXAMPLES = 2 if EVERYTHING else 1


@pytest.mark.timeout(600)
@pytest.mark.rule("D1", "G8", "C1", "C2", "C3", "C4", "C5", "C8", "G10")
async def test_schemathesis_finds_nothing_for_any_operation_and_caller(tmp_path):
    """This test is a short run of the fuzzer. `make fuzz` runs it for longer."""
    outcome = await fuzz(tmp_path, 1, "--phases=fuzzing,stateful", f"--max-examples={EXAMPLES}")
    assert outcome.status == 0, outcome.report
    assert outcome.faults == 0
    assert [one for one in OPERATIONS.values() if counted(outcome.cases, one) < EXAMPLES] == []
    asked = {
        kind for kinds in outcome.cases.values() for kind in kinds
    }  # callers are drawn at random, so a short run may not include every caller
    assert {"session", "anonymous"} < asked <= set(KINDS)
