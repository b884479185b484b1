"""Tests of the validation of the Worker's table `meta`. Customers can write to this table."""

from __future__ import annotations

import json

import pytest

from svc.worker.meta import WorkerMeta


def meta(state: object = None, **values: object) -> WorkerMeta:
    rows = {"schema": 1, "config_version": 7, "state": json.dumps(state or {})} | values
    return WorkerMeta.from_rows([{"key": key, "value": value} for key, value in rows.items()])


@pytest.mark.rule("X6")
def test_valid_rows_are_parsed():
    assert meta() == WorkerMeta(1, 7, -1, 0, "", 0)
    state = {"day": 20_000, "as_of": 1_795_000_000_000, "push": {"tried": "op_abc", "next_at": 5}, "more": [1]}
    assert meta(state, config_version=10**12) == WorkerMeta(1, 10**12, 20_000, 1_795_000_000_000, "op_abc", 5)
    assert meta({"day": 20_000, "kept_from": 19_980}).kept_from == 19_980
    assert WorkerMeta.from_rows([]) == WorkerMeta(0, 0, -1, 0, "", 0)


@pytest.mark.rule("X6")
@pytest.mark.parametrize(
    "values",
    [
        {"config_version": 10**12 + 1}, {"config_version": -1}, {"config_version": 1.5}, {"schema": -1},
        {"state": {"kept_from": -1}}, {"state": {"kept_from": 10**7}},
        {"state": {"day": 10**7}}, {"state": {"as_of": 2**63}}, {"state": {"push": {"next_at": 10**30}}},
        {"state": {"push": {"tried": "op_\0"}}}, {"state": {"push": {"tried": "x" * 101}}},
    ],
)  # fmt: skip
def test_values_out_of_range_are_rejected(values):
    with pytest.raises(ValueError):  # noqa: PT011  # from pydantic, int() or our code
        meta(**values)
