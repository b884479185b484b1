"""For random histories of accounts, every field of every report equals a simple count of the visits.

`make test` runs one small, fixed world, and `make test-all` runs two. `make fuzz` runs large worlds until
SVC_TEST_HISTORIES sites and links are covered. A failure prints the command that reruns the failed account up to the
failure.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from edge_worker.harness.sampling import EVERYTHING
from tests.databases import sqlite_config
from tests.journeys.histories import ACTIONS, Plan, Seen
from tests.journeys.moved_world import open_moved_world
from tests.journeys.random_accounts import RandomAccounts

if TYPE_CHECKING:
    from pathlib import Path

    from svc.config import StoreConfig

SMALL = Plan(1, accounts=6, days=36, moments=8, most=6, ranges=3)
# A world that lasts long enough for Workers to delete the days of two or three months.
LARGE = Plan(1, accounts=12, days=100, moments=20, most=48)
# A world that lasts long enough for Workers to also delete the sums of whole months.
LONG = Plan(1, accounts=24, days=300, moments=20, most=24, months_kept=6)
# One in this many generated worlds covers a long period.
_LONG_EVERY = 8
# A large or long world usually has more sites and links than this.
_TARGETS_PER_WORLD = 225
RULES = pytest.mark.rule("R1", "R2", "R3", "R4", "R7", "L4", "W2", "W3", "A17", "Y10")


def setting(name: str, otherwise: int) -> int:
    return int(os.environ.get(f"SVC_TEST_{name}", otherwise))


async def run(plan: Plan, store_config: StoreConfig, folder: Path) -> Seen:
    """Run the accounts of a world. If this fails, add the command that reproduces the failure to the exception."""
    async with open_moved_world(store_config, folder) as world:
        accounts = RandomAccounts(plan, world)
        try:
            await accounts.run()
        except Exception as failed:
            named = re.findall(r"account (\d+) ", " ".join(map(str, leaves(failed))))
            for number in sorted(set(map(int, named))):
                failed.add_note(f"Rerun: {plan.rerun_command(number, accounts.moment_number)}")
            failed.add_note(f"In moment {accounts.moment_number} of {plan}")
            raise
    print(f"{plan}: {accounts.seen}")
    return accounts.seen


def leaves(failed: BaseException) -> list[BaseException]:
    if isinstance(failed, BaseExceptionGroup):
        return [leaf for error in failed.exceptions for leaf in leaves(error)]
    return [failed]


@RULES
@pytest.mark.timeout(600)
async def test_reports_of_random_accounts_equal_a_simple_count(store_config, tmp_path):
    # World 2 covers all actions except rotations, which `test_sites` covers. World 3 also covers rotations.
    seed = 3 if EVERYTHING and store_config.engine == "sqlite" else 2
    seen = await run(replace(SMALL, seed=seed), store_config, tmp_path)
    assert seen.reports > 30
    if seed == 2:
        assert seen.actions.keys() >= ACTIONS.keys() - {"nothing", "rotate"}


# Define this test only on request, because pytest reports a test without parameters as skipped.
if setting("HISTORIES", 0):

    @RULES
    @pytest.mark.timeout(7_200)
    @pytest.mark.parametrize("number", range(-(-setting("HISTORIES", 0) // _TARGETS_PER_WORLD)))
    async def test_many_histories(number, tmp_path):
        seed = setting("SEED", 1_000) + number
        plan = LONG if number % _LONG_EVERY == _LONG_EVERY - 1 else LARGE
        seen = await run(replace(plan, seed=seed), sqlite_config(tmp_path), tmp_path)
        assert seen.months > 0
        assert seen.mixed > 0


if "SVC_TEST_ONLY" in os.environ:

    @pytest.mark.timeout(7_200)
    async def test_rerun_of_one_account(tmp_path):
        plan = Plan(
            setting("SEED", 1), setting("ACCOUNTS", 1), setting("DAYS", 30), setting("MOMENTS", 1), setting("MOST", 6),
            setting("MONTHS", 0) or None,
        )  # fmt: skip
        plan = replace(plan, only=setting("ONLY", 0), until_moment=setting("UNTIL", 1_000))
        await run(plan, sqlite_config(tmp_path), tmp_path)
