"""`svc check`: is everything there that the service needs? Each finding says what is wrong and how to mend it."""

from __future__ import annotations

import ipaddress
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.clock import DAY_MS, iso, system_clock
from svc.config import ConfigError
from svc.config_file import shows_passwords
from svc.container import data_trouble
from svc.errors import ServiceError, StoreUnavailable
from svc.http.web import load_web
from svc.mail import check_mail
from svc.store import open_store, outbox, rollouts
from svc.store.backups import backed_up_at
from svc.store.migrate import NotReady
from svc.store.sealed_tokens import sealed_tokens
from svc.store.watch import small_write
from svc.vault import open_vault
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc.config import Config
    from svc.store.outbox import Backlog
    from svc.store.tx import Store


_BY_HAND = "POST /v1/accounts/{id}/install installs this one"


@dataclass(frozen=True)
class Finding:
    """One part that was looked at."""

    part: str
    ok: bool
    text: str


_NOT_KNOWN = Finding("workers", True, "whether they are of this version is not known")
_NO_BACKUP_KNOWN = Finding("backup", True, "when the last one was made is not known")
# Who makes backups makes them every day.
_OLD_BACKUP_MS = 2 * DAY_MS
_NO_EMAILS_KNOWN = Finding("e-mails", True, "how many wait is not known")


async def check(config: Config, file: Path | None = None) -> list[Finding]:
    """Look at every part, also after one that fails. Makes the folders of a first start, but no key and no store.

    `file`: where the configuration is from; None: it is from no file.
    """
    store, sealed, workers, emails, backups = await _store(config, as_is=True)
    return [
        _configuration(file),
        _tried("worker bundle", lambda: f"schema {load_bundle().schema}, sha256 {load_bundle().sha256[:12]}…"),
        _tried("web application", lambda: f"built, {load_web().bytes // 1024} KB in memory"),
        _tried("key file", lambda: _key_file(config, sealed)),
        store,
        backups,
        workers,
        await look_at_mail(config),
        emails,
        _data(config),
        _address(config),
        _metrics(config),
    ]


def _configuration(file: Path | None) -> Finding:
    if file is not None and shows_passwords(file):
        text = f"{file} holds a password, and can be read or changed by others; run: chmod o= {file}"
        return Finding("configuration", False, text)
    return Finding("configuration", True, "every setting is known and in range")


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


async def look_at_store(config: Config) -> Finding:
    """Whether the store can be used; an empty one is made."""
    return (await _store(config, as_is=False))[0]


async def _store(config: Config, *, as_is: bool) -> tuple[Finding, dict[str, bytes], Finding, Finding, Finding]:
    """What was found, what is sealed in it, and what it tells: of the update of workers, e-mails that wait, backups."""
    kind = config.store.url.get_secret_value().partition(":")[0]
    try:
        with trio.fail_after(config.edge.timeout_s):
            async with open_store(config.store, as_is=as_is) as store:
                await store.run(small_write())  # its disk may be full
                sealed = await store.read(sealed_tokens())
                workers = await _workers(config, store)
                emails = _waiting(await store.read(outbox.backlog()))
                backups = _backup(await store.read(backed_up_at()), system_clock())
                return (
                    Finding("store", True, f"{kind} answers, its schema is current"),
                    sealed,
                    workers,
                    emails,
                    backups,
                )
    except (ConfigError, ServiceError, OSError, trio.TooSlowError) as error:
        text = f"{error}; check [store] url"
        if isinstance(error, NotReady):
            text = str(error)
        elif isinstance(error, StoreUnavailable):
            text = error.message
        return (
            Finding("store", isinstance(error, NotReady), f"{kind}: {text}"),
            {},
            _NOT_KNOWN,
            _NO_EMAILS_KNOWN,
            _NO_BACKUP_KNOWN,
        )


def _backup(at: int | None, now: int) -> Finding:
    """How old the last good backup is. Without any it is no failure: others may copy the store in their own way."""
    if at is None:
        return Finding("backup", True, "svc backup has made none yet (docs/operate/backup.md)")
    if now - at > _OLD_BACKUP_MS:
        text = f"the last good one was made on {iso(at)}, more than two days ago; svc backup FILE makes one"
        return Finding("backup", False, text)
    return Finding("backup", True, f"the last good one was made on {iso(at)}")


async def _workers(config: Config, store: Store) -> Finding:
    """Whether the installed workers are of this version, and go on to become it."""
    try:
        bundle = load_bundle().sha256
    except ConfigError:
        return _NOT_KNOWN
    older = await store.read(rollouts.outdated(bundle))
    rollout = await store.read(rollouts.current(bundle))
    if rollout is not None and rollout.state == "halted":
        # What an operator has halted is as it is meant to be.
        text = (
            f"their update is halted ({rollout.reason}): {rollout.failed} failed, {rollout.updated} went well, {older}"
            " are of another version and go on to count; `svc rollout status` says more; `svc rollout resume`, or a"
            " newer version of the service, goes on"
        )
        return Finding("workers", rollout.reason == "operator", text)
    if not older:
        return Finding("workers", True, "all that are installed are of this version")
    if not config.worker.auto_update:
        return Finding("workers", True, f"{older} are of another version; {_BY_HAND} ([worker] auto_update is off)")
    if rollout is None:
        return Finding("workers", True, f"{older} are of another version; the service updates them when it runs")
    return Finding("workers", True, f"{rollout.updated} updated, {rollout.failed} failed, {older} of another version")


def _waiting(found: Backlog) -> Finding:
    """What waits to be sent. No failure of its own: after an hour without the service, e-mails wait as well."""
    text = "none waits"
    if found.queue.since is not None:
        failed = f"; tries failed at: {', '.join(found.troubles)}" if found.troubles else ""
        text = f"{found.queue.waiting} wait to be sent, the oldest since {iso(found.queue.since)}{failed}"
    if found.refused_addresses:
        text += f"; the addresses of {found.refused_addresses} users are refused by mail servers"
    return Finding("e-mails", True, text)


async def look_at_mail(config: Config) -> Finding:
    """Whether e-mails can leave: of a server, whether it takes our sign-in and our sender."""
    try:
        await check_mail(config.mail)
    except OSError as error:
        return Finding("mail", False, f"{config.mail.transport}: {error}; check [mail]")
    return Finding("mail", True, f"transport {config.mail.transport} is ready")


def _data(config: Config) -> Finding:
    """Whether what is stored outlives the container. No failure: somebody may only be trying the service out."""
    trouble = data_trouble(config)
    return Finding(
        "data", True, "outlives this program" if trouble is None else f"will be lost with this container: {trouble}"
    )


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


def _metrics(config: Config) -> Finding:
    """Whether only those who should can read the metrics, as far as the address tells."""
    bind = config.metrics.bind
    if not bind:
        return Finding("metrics", True, "[metrics] bind is empty: they are not served")
    host = bind.rpartition(":")[0].strip("[]")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost":
            return Finding("metrics", True, f"http://{bind}/metrics, for this machine alone")
        return Finding("metrics", True, f"http://{bind}/metrics; {_FOR_THE_SCRAPER}")
    if address.is_loopback:
        return Finding("metrics", True, f"http://{bind}/metrics, for this machine alone")
    if address.is_unspecified:
        return Finding(
            "metrics", True, f"http://{bind}/metrics is on every address of this machine; {_FOR_THE_SCRAPER}"
        )
    if address.is_global:
        text = f"[metrics] bind: {host} is a public address, and they ask for no password; bind a private one"
        return Finding("metrics", False, text)
    return Finding("metrics", True, f"http://{bind}/metrics; {_FOR_THE_SCRAPER}")


_FOR_THE_SCRAPER = "they ask for no password: let nobody but the scraper reach it"
