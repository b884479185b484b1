"""Every field of every report is what a plain count of the visits says, over random lives of accounts.

`make test` lives one small world, `make test-all` two, the same each time; `make fuzz` lives large ones, until as many
sites and links have lived as SVC_TEST_HISTORIES says. A failure names the command that lives the one life again, up to
where it went wrong.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from edge_worker.harness.sampling import EVERYTHING
from tests.databases import sqlite_config
from tests.journeys.histories import DEEDS, Plan, Seen
from tests.journeys.lives import Lives
from tests.journeys.moved_world import open_moved_world

if TYPE_CHECKING:
    from pathlib import Path

    from svc.config import StoreConfig

SMALL = Plan(1, lives=6, days=36, moments=8, most=6)
LARGE = Plan(1, lives=12, days=40, moments=20, most=48)
# A large world has more than so many sites and links, as a rule.
_A_WORLD = 225
RULES = pytest.mark.rule("R1", "R2", "R3", "R4", "R7", "L4", "W2", "W3", "A17")


def setting(name: str, otherwise: int) -> int:
    return int(os.environ.get(f"SVC_TEST_{name}", otherwise))


async def live(plan: Plan, store_config: StoreConfig, folder: Path) -> Seen:
    """Live the lives of a world; what went wrong tells how to see it again."""
    async with open_moved_world(store_config, folder) as world:
        lives = Lives(plan, world)
        try:
            await lives.live()
        except Exception as failed:
            named = re.findall(r"life (\d+) ", " ".join(map(str, leaves(failed))))
            for life in sorted(set(map(int, named))):
                failed.add_note(f"Again: {plan.again(life, lives.moment_number)}")
            failed.add_note(f"In moment {lives.moment_number} of {plan}")
            raise
    print(f"{plan}: {lives.seen}")
    return lives.seen


def leaves(failed: BaseException) -> list[BaseException]:
    if isinstance(failed, BaseExceptionGroup):
        return [leaf for error in failed.exceptions for leaf in leaves(error)]
    return [failed]


@RULES
@pytest.mark.timeout(600)
async def test_reports_of_random_lives_say_what_a_plain_count_says(store_config, tmp_path):
    # World 2 lives through every deed but a rotation, which `test_sites` proves; world 3 has that, too.
    seed = 3 if EVERYTHING and store_config.engine == "sqlite" else 2
    seen = await live(replace(SMALL, seed=seed), store_config, tmp_path)
    assert seen.reports > 30
    if seed == 2:
        assert seen.deeds.keys() >= DEEDS.keys() - {"nothing", "rotate"}


# Tests only where they are asked for: an empty one would be a skipped one.
if setting("HISTORIES", 0):

    @RULES
    @pytest.mark.timeout(7_200)
    @pytest.mark.parametrize("number", range(-(-setting("HISTORIES", 0) // _A_WORLD)))
    async def test_many_lives(number, tmp_path):
        seed = setting("SEED", 1_000) + number
        await live(replace(LARGE, seed=seed), sqlite_config(tmp_path), tmp_path)


if "SVC_TEST_ONLY" in os.environ:

    @pytest.mark.timeout(7_200)
    async def test_one_life_again(tmp_path):
        plan = Plan(
            setting("SEED", 1), setting("LIVES", 1), setting("DAYS", 30), setting("MOMENTS", 1), setting("MOST", 6)
        )
        plan = replace(plan, only=setting("ONLY", 0), until_moment=setting("UNTIL", 1_000))
        await live(plan, sqlite_config(tmp_path), tmp_path)
