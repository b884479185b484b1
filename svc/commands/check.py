"""`svc check`: check everything that the service needs. Each finding says what is wrong and how to fix it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from svc.commands.checks.address import check_metrics, check_push_url
from svc.commands.checks.configuration import check_file, check_files
from svc.commands.checks.machine import check_clock, check_disk_space
from svc.commands.checks.mail import check_sender_domain, check_transport
from svc.commands.checks.public_url import check_public_url
from svc.commands.checks.store import read_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from svc.commands.checks.finding import Finding
    from svc.config import Config


async def check(config: Config, file: Path | None = None) -> list[Finding]:
    """Run all checks, even if one fails. Creates no files or folders.

    `file`: the configuration file, or None if there is none.
    """
    parts = await read_store(config, as_is=True)
    clock, transport, sender, public_url = await _together(
        partial(check_clock, config.edge.api_base_url),
        partial(check_transport, config),
        partial(check_sender_domain, config.mail),
        partial(check_public_url, config.http),
    )
    return [
        check_file(file),
        *check_files(config, parts.sealed),
        check_disk_space(config),
        clock,
        parts.store,
        parts.backup,
        parts.workers,
        transport,
        sender,
        parts.emails,
        check_push_url(config),
        public_url,
        check_metrics(config),
    ]


async def _together(*checks: Callable[[], Awaitable[Finding]]) -> list[Finding]:
    """Run checks concurrently, because each waits for the network. Return their findings in order."""
    findings: dict[int, Finding] = {}

    async def run(place: int) -> None:
        findings[place] = await checks[place]()

    async with trio.open_nursery() as nursery:
        for place in range(len(checks)):
            nursery.start_soon(run, place)
    return [findings[place] for place in range(len(checks))]
