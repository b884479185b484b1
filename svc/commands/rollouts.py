"""`svc rollout`: show, halt or resume the update of all Workers.

A running service applies a change at its next poll.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import add_command, add_group

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.model import Rollout, UpdateOutcome
    from svc.store.rollouts import Progress
    from svc.store.tx import Tx

_LABELS: dict[UpdateOutcome, str] = {
    "updated": "updated",
    "under_way": "running",
    "failed": "failed",
    "excused": "skipped",
}
_REASONS = {"operator": "by svc rollout halt", "failures": "too many updates failed"}
_NOT_BEGUN = "no rollout has started"


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    actions = add_group(commands, "rollout", "show, halt or resume the update of all Workers")
    status = add_command(
        actions, shared, "status", "show the state of the Worker update, its failures and the next step"
    )
    status.set_defaults(command=_status)
    halt = add_command(actions, shared, "halt", "start no new Worker updates; updates in progress continue")
    halt.set_defaults(command=_halt)
    resume = add_command(actions, shared, "resume", "resume updating the Workers, and retry failed updates")
    resume.set_defaults(command=_resume)


def _status(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.store import open_store, rollouts

    def read() -> Tx[list[str]]:
        newest = yield from rollouts.newest()
        if newest is None:
            return [f"{_NOT_BEGUN}; a service with a newer Worker starts one"]
        outdated = yield from rollouts.outdated(newest.bundle)
        return _lines(config, newest, (yield from rollouts.progress()), outdated)

    async def show() -> list[str]:
        async with open_store(config.store, as_is=True) as store:
            return await store.read(read())

    for line in trio.run(show):
        print(line)
    return 0


def _halt(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.store import rollouts

    def halt(newest: Rollout, now: int) -> Tx[str | None]:
        halted = yield from rollouts.stop(newest, "operator", now)
        return None if halted else f"the rollout is already {newest.state}"

    return _change(config, halt, "halted; running updates continue")


def _resume(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.store import rollouts

    def resume(newest: Rollout, now: int) -> Tx[str | None]:
        resumed = yield from rollouts.resume(newest, now)
        return None if resumed else f"the rollout is {newest.state}, not halted"

    return _change(config, resume, "resumed; the running service continues at its next poll")


def _change(config: Config, change: Callable[[Rollout, int], Tx[str | None]], done: str) -> int:
    """Change the newest rollout in one transaction. `change` returns None, or the reason why it changed nothing."""
    from svc.clock import system_clock
    from svc.store import open_store, rollouts

    def run() -> Tx[str | None]:
        newest = yield from rollouts.newest()
        return _NOT_BEGUN if newest is None else (yield from change(newest, system_clock()))

    async def apply() -> str | None:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(run())

    reason = trio.run(apply)
    print(f"svc: {reason}" if reason else done, file=sys.stderr if reason else sys.stdout)
    return 1 if reason else 0


def _lines(config: Config, newest: Rollout, progress: Progress, outdated: int) -> list[str]:
    from svc.clock import iso

    state = f"halted: {_REASONS[newest.reason]}" if newest.state == "halted" and newest.reason else newest.state
    lines = [
        f"bundle  {newest.bundle[:12]}",
        f"state   {state}, since {iso(newest.changed_at)}",
        f"started {iso(newest.started_at)}",
        f"next    {_next(config, newest)}",
        "",
    ]
    for outcome, label in _LABELS.items():
        codes = ", ".join(f"{code} {number}" for code, number in sorted(progress.codes.get(outcome, {}).items()))
        lines.append(f"{label:<18}{progress.counts[outcome]:>6}  {codes}".rstrip())
    return [*lines, f"{'on another version':<18}{outdated:>6}"]


def _next(config: Config, newest: Rollout) -> str:
    from svc.clock import iso

    if newest.state == "halted":
        return "waits for svc rollout resume, or a newer version of the service"
    if newest.state == "done":
        return "accounts that become ready later"
    if newest.spread_from is None:
        wait_s = config.worker.canary_wait_s
        return f"the other accounts, after the canary accounts have run the new Worker for {wait_s:g} s"
    return f"the other accounts, until {iso(newest.spread_from + int(config.worker.spread_s * 1000))}"
