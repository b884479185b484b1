"""The OpenAPI document against the running service: everything that it announces is so, and nothing else comes."""

from __future__ import annotations

import pytest

from tests.http.fuzz_contract import fuzz


@pytest.mark.rule("D1", "G8")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("paths", ["--include-path-regex=^/auth/", "--exclude-path-regex=^/auth/"])
async def test_schemathesis_finds_nothing_in_any_operation(tmp_path, paths):
    """`make fuzz` looks longer."""
    outcome = await fuzz(tmp_path, 1, "--phases=examples,coverage", "--max-examples=5", paths)
    assert outcome.status == 0, outcome.report
    assert outcome.cases > 200
    assert outcome.faults == 0
