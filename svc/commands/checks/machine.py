"""Checks of the machine: the clock and the free disk space."""

from __future__ import annotations

import shutil
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import httpx

from svc.clock import system_clock
from svc.commands.checks.finding import Finding, Verdict
from svc.edge.tls import trusted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from svc.config import Config

_TIMEOUT_S = 10
# A difference of up to this time is not reported. A Date header is accurate only to the second.
_TOLERATED_S = 5
# A larger difference fails the check. Cloudflare's clock decides when tokens expire, and to which hour a view belongs.
_TOO_FAR_S = 60
_LITTLE_BYTES = 1_000_000_000
_TOO_LITTLE_BYTES = 100_000_000


async def check_clock(api_base_url: str) -> Finding:
    """Compare this machine's clock with the Date header of Cloudflare's API.

    This also checks that the API is reachable.
    """
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_S, verify=trusted(), trust_env=False) as client:
            before = system_clock()
            response = await client.get(f"{api_base_url}/ips")
            after = system_clock()
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        text = f"{api_base_url} cannot be reached: {reason}; allow outgoing connections to it"
        return Finding("clock", "FAIL", text)
    try:
        # The header has whole seconds, rounded down. The middle of the second is the best estimate.
        server_ms = round(parsedate_to_datetime(response.headers.get("date", "")).timestamp() * 1000) + 500
    except ValueError:
        return Finding(
            "clock", "warn", f"not compared, because the response from {api_base_url} has no valid Date header"
        )
    return clock_finding((before + after) // 2 - server_ms, (after - before) // 2)


def clock_finding(ahead_ms: int, uncertain_ms: int) -> Finding:
    """Assess a clock that is `ahead_ms` ahead of Cloudflare's; the measurement may be off by `uncertain_ms`."""
    off_s = max(0, abs(ahead_ms) - uncertain_ms) / 1000
    if off_s <= _TOLERATED_S:
        return Finding("clock", "ok", "agrees with the clock of Cloudflare's API")
    verdict: Verdict = "FAIL" if off_s > _TOO_FAR_S else "warn"
    direction = "ahead of" if ahead_ms > 0 else "behind"
    text = f"about {round(abs(ahead_ms) / 1000)} s {direction} Cloudflare's clock; run: timedatectl set-ntp true"
    return Finding("clock", verdict, text)


def check_disk_space(config: Config) -> Finding:
    """Check the free space where the service writes: the store, the key file, and emails that are written to files."""
    folders = [config.vault.key_file.absolute().parent]
    if config.store.engine == "sqlite":
        folders.append(config.store.path.parent)
    if config.mail.transport == "file":
        folders.append(config.mail.folder.absolute())
    return space_finding(dict(map(_free_bytes, folders)))


def space_finding(free_bytes: Mapping[Path, int]) -> Finding:
    """Assess the folder with the least free space. `free_bytes`: by folder."""
    least_bytes, folder = min((each, folder) for folder, each in free_bytes.items())
    text = f"{least_bytes / 1e9:.1f} GB free in {folder}"
    if least_bytes < _TOO_LITTLE_BYTES:
        return Finding(
            "disk space",
            "FAIL",
            f"{text}; free up space, because the service cannot store counts when the disk is full",
        )
    if least_bytes < _LITTLE_BYTES:
        return Finding("disk space", "warn", f"{text}; docs/operate/sizing.md lists how much the service needs")
    return Finding("disk space", "ok", text)


def _free_bytes(folder: Path) -> tuple[Path, int]:
    """Return the folder, or the nearest folder above it that can be read, and the free bytes on its disk."""
    while True:
        try:
            return folder, shutil.disk_usage(folder).free
        except OSError:
            if folder == folder.parent:
                raise
            folder = folder.parent
