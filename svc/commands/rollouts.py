"""The operator's hand on the update of all workers. A running service hears of it at its next look."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.model import Rollout, WaveOutcome
    from svc.store.tx import Store
    from svc.store.waves import Wave

_COLUMNS: dict[str, WaveOutcome] = {
    "updated": "updated",
    "pushed once": "seen_once",
    "under way": "under_way",
    "waiting": "waiting",
    "failed": "failed",
    "left alone": "excused",
}


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    rollout = commands.add_parser("rollout", help="look at the update of all workers, halt it, go on with it")
    actions = rollout.add_subparsers(required=True, metavar="ACTION")
    status = actions.add_parser("status", parents=[shared], help="how far it is, what failed, and what comes next")
    status.set_defaults(command=_status)
    halt = actions.add_parser("halt", parents=[shared], help="begin no more updates; those under way come to their end")
    halt.set_defaults(command=_halt)
    resume = actions.add_parser("resume", parents=[shared], help="go on; what failed is tried again")
    resume.add_argument("--unwatched", action="store_true", help="halt no more by itself, whatever fails")
    resume.set_defaults(command=_resume)


def _status(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import open_store

    async def look() -> list[str]:
        async with open_store(config.store, as_is=True) as store:
            found = await _newest(store)
            if found is None:
                return ["no update of workers has begun; a service with a newer worker begins it when it runs"]
            return _told(found, await _waves(store, found), system_clock())

    for line in trio.run(look):
        print(line)
    return 0


def _halt(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import open_store, rollouts

    async def halt() -> str | None:
        async with open_store(config.store, as_is=True) as store:
            found = await _newest(store)
            if found is None:
                return "no update of workers has begun"
            halted = await store.run(rollouts.halt(found, "operator", system_clock()))
            return None if halted else f"the update of workers is {found.state} already"

    return _ended(trio.run(halt), "halted; updates under way come to their end")


def _resume(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import open_store, rollouts

    async def resume() -> str | None:
        async with open_store(config.store, as_is=True) as store:
            found = await _newest(store)
            if found is None:
                return "no update of workers has begun"
            failed = [account_id for wave in await _waves(store, found) for account_id in wave.failed_ids]
            watched = not arguments.unwatched
            resumed = await store.run(rollouts.resume(found, failed, system_clock(), watched=watched))
            return None if resumed else f"the update of workers is {found.state}, and not halted"

    return _ended(trio.run(resume), "resumed; the running service goes on at its next look")


async def _newest(store: Store) -> Rollout | None:
    from svc.store import rollouts

    return await store.read(rollouts.newest())


async def _waves(store: Store, found: Rollout) -> list[Wave]:
    from svc.clock import system_clock
    from svc.store import waves
    from svc.worker.bundle import load_bundle

    return await store.read(waves.waves(found, load_bundle().schema, system_clock()))


def _told(found: Rollout, waves: list[Wave], now: int) -> list[str]:
    from svc.clock import iso
    from svc.model import WAVES

    state = f"halted: {_REASONS[found.reason]}" if found.state == "halted" and found.reason else found.state
    watch = "" if found.watched else " (it halts no more by itself)"
    rows = [
        (WAVES[number], str(wave.counts.total()), *(str(wave.counts[outcome]) for outcome in _COLUMNS.values()))
        for number, wave in enumerate(waves[: found.wave + 1])
    ]
    lines = [("wave", "accounts", *_COLUMNS), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    failed, excused = Counter[str](), Counter[str]()
    for wave in waves:
        failed += wave.failed
        excused += wave.excused
    codes = [
        f"{what}: " + ", ".join(f"{code} {number}" for code, number in sorted(counted.items()))
        for what, counted in (("failed", failed), ("left alone", excused))
        if counted
    ]
    return [
        f"bundle  {found.bundle[:12]}",
        f"state   {state}{watch}, since {iso(found.changed_at)}",
        f"began   {iso(found.started_at)}",
        f"next    {_next(found, waves[found.wave], now)}",
        "",
        *table,
        *codes,
    ]


_REASONS = {
    "operator": "by svc rollout halt",
    "failures": "too many updates failed",
    "errors": "new workers report errors that the others do not have",
    "dropped": "new workers drop events that the others do not",
}


def _next(found: Rollout, wave: Wave, now: int) -> str:
    from svc.clock import iso
    from svc.model import WAVES

    last = found.wave == len(WAVES) - 1
    if found.state == "halted":
        return "nothing before svc rollout resume, or a newer version of the service"
    if found.state == "done":
        return "accounts that become ready"
    if found.wave_began_at is None:
        return f"the wave {WAVES[found.wave]} begins"
    if wave.next_at is not None:
        return f"an account of the wave {WAVES[found.wave]} at {iso(max(now, wave.next_at))}"
    then = "it is done" if last else f"the wave {WAVES[found.wave + 1]}"
    return f"{then}, when the workers of the wave {WAVES[found.wave]} have pushed twice"


def _ended(refused: str | None, done: str) -> int:
    print(f"svc: {refused}" if refused else done, file=sys.stderr if refused else sys.stdout)
    return 1 if refused else 0
