"""`svc check`: is everything there that the service needs? Each finding says what is wrong and how to mend it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.config import ConfigError
from svc.errors import ServiceError
from svc.mail import check_mail
from svc.store import open_store
from svc.store.sealed_tokens import sealed_tokens
from svc.vault import open_vault
from svc.worker.bundle import load_bundle

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
    """Look at every part, also after one that fails. Makes what a first start would make, but no key."""
    store, sealed = await _store(config)
    return [
        Finding("configuration", True, "every setting is known and in range"),
        _tried("worker bundle", lambda: f"schema {load_bundle().schema}, sha256 {load_bundle().sha256[:12]}…"),
        _tried("key file", lambda: _key_file(config, sealed)),
        store,
        await _mail(config),
        _address(config),
    ]


def _tried(part: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(part, True, look())
    except (ConfigError, OSError) as error:
        return Finding(part, False, str(error))


def _key_file(config: Config, sealed: dict[str, bytes]) -> str:
    path = config.vault.key_file
    open_vault(config.vault, sealed, make=False)
    if not path.exists():
        return f"{path} will be made at the first start; back it up then"
    return f"{path} is readable (mode {stat.S_IMODE(path.stat().st_mode):04o}), and opens {len(sealed)} tokens"


async def _store(config: Config) -> tuple[Finding, dict[str, bytes]]:
    """What was found, and what is sealed in it."""
    kind = config.store.url.get_secret_value().partition(":")[0]
    try:
        with trio.fail_after(config.edge.timeout_s):
            async with open_store(config.store) as store:
                sealed = await store.read(sealed_tokens())
                return Finding("store", True, f"{kind} answers, its schema is current"), sealed
    except (ConfigError, ServiceError, OSError, trio.TooSlowError) as error:
        return Finding("store", False, f"{kind}: {error}; check [store] url"), {}


async def _mail(config: Config) -> Finding:
    try:
        await check_mail(config.mail)
    except OSError as error:
        return Finding("mail", False, f"{config.mail.transport}: {error}; check [mail]")
    return Finding("mail", True, f"transport {config.mail.transport} is ready")


def _address(config: Config) -> Finding:
    """Whether installed workers can reach the service. (That the name leads here only a worker's push can tell.)"""
    push_url = config.push_url(config.http.base_url)
    trouble = config.push_trouble(push_url)
    if trouble is not None:
        return Finding("address", False, trouble)
    if config.worker.allow_local_push:
        return Finding("address", True, "[worker] allow_local_push is set: workers of an emulated platform only")
    text = f"workers push to {push_url}; bot protection in front of it must let them pass (docs/cloudflare.md)"
    return Finding("address", True, text)
