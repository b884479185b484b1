"""`svc check`: is everything there that the service needs? Each finding says what is wrong and how to mend it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.config import ConfigError
from svc.mail import check_mail
from svc.store import open_store
from svc.vault import open_vault
from svc.worker import load_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.config import Config


@dataclass(frozen=True)
class Finding:
    """One part that was looked at."""

    part: str
    ok: bool
    text: str


async def check(config: Config) -> list[Finding]:
    """Look at every part, also after one that fails. Makes nothing but what a first start would make."""
    return [
        Finding("configuration", True, "every setting is known and in range"),
        _tried("worker bundle", lambda: f"schema {load_bundle().schema}, sha256 {load_bundle().sha256[:12]}…"),
        _tried("key file", lambda: _key_file(config)),
        await _store(config),
        await _mail(config),
        _address(config),
    ]


def _tried(part: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(part, True, look())
    except ConfigError as error:
        return Finding(part, False, str(error))


def _key_file(config: Config) -> str:
    path = config.vault.key_file
    new = not path.exists()
    open_vault(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    return f"{path} {'was made; back it up' if new else 'is readable'} (mode {mode:04o})"


async def _store(config: Config) -> Finding:
    kind = config.store.url.get_secret_value().partition(":")[0]
    try:
        with trio.fail_after(config.edge.timeout_s):
            async with open_store(config.store):
                return Finding("store", True, f"{kind} answers, its schema is current")
    except (ConfigError, OSError, trio.TooSlowError) as error:
        return Finding("store", False, f"{kind}: {error}; check [store] url")


async def _mail(config: Config) -> Finding:
    try:
        await check_mail(config.mail)
    except OSError as error:
        return Finding("mail", False, f"{config.mail.transport}: {error}; check [mail]")
    return Finding("mail", True, f"transport {config.mail.transport} is ready")


def _address(config: Config) -> Finding:
    push_url = config.worker.push_url or (config.http.base_url and f"{config.http.base_url}/edge/push")
    if push_url:
        return Finding("address", True, f"workers push to {push_url}")
    text = "http.base_url is not set: installed workers can reach the service on this machine only; set it for real use"
    return Finding("address", True, text)
