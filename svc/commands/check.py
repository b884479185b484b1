"""`svc check`: is everything there that the service needs? Each finding says what is wrong and how to mend it."""

from __future__ import annotations

import ipaddress
import socket
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import trio

from svc.clock import DAY_MS, iso, system_clock
from svc.commands.config_file import shows_passwords
from svc.config import ConfigError
from svc.errors import ServiceError, StoreUnavailable
from svc.http.serving.web import load_web
from svc.mail.transport import check_mail
from svc.security.vault import open_vault
from svc.store import open_store, outbox, rollouts
from svc.store.engines.migrate import NotReady
from svc.store.engines.watch import small_write
from svc.store.service_state import backed_up_at
from svc.store.working_tokens import sealed_tokens
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc.config import Config
    from svc.store.outbox import Backlog
    from svc.store.tx import Store


_BY_HAND = "POST /v1/accounts/{id}/install installs this one"


Verdict = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True)
class Finding:
    """One part that was checked. `warn`: the service works, and there is a risk that the operator should know."""

    part: str
    verdict: Verdict
    text: str


_NOT_KNOWN = Finding("workers", "ok", "whether they are of this version is not known")
_NO_BACKUP_KNOWN = Finding("backup", "ok", "when the last one was made is not known")
# Who makes backups makes them every day.
_OLD_BACKUP_MS = 2 * DAY_MS
_NO_EMAILS_KNOWN = Finding("e-mails", "ok", "how many wait is not known")


async def check(config: Config, file: Path | None = None) -> list[Finding]:
    """Check every part, also after one that fails. Makes no file and no folder.

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
        _address(config),
        _metrics(config),
    ]


def _configuration(file: Path | None) -> Finding:
    if file is not None and shows_passwords(file):
        text = f"{file} holds a password, and can be read or changed by others; run: chmod o= {file}"
        return Finding("configuration", "FAIL", text)
    return Finding("configuration", "ok", "every setting is known and in range")


def _tried(part: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(part, "ok", look())
    except (ConfigError, OSError) as error:
        return Finding(part, "FAIL", str(error))


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
                    Finding("store", "ok", f"{kind} answers, its schema is current"),
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
            Finding("store", "ok" if isinstance(error, NotReady) else "FAIL", f"{kind}: {text}"),
            {},
            _NOT_KNOWN,
            _NO_EMAILS_KNOWN,
            _NO_BACKUP_KNOWN,
        )


def _backup(at: int | None, now: int) -> Finding:
    """How old the last good backup is. Without any it is no failure: others may copy the store in their own way."""
    if at is None:
        return Finding("backup", "ok", "svc backup has made none yet (docs/operate/backup.md)")
    if now - at > _OLD_BACKUP_MS:
        text = f"the last good one was made on {iso(at)}, more than two days ago; svc backup FILE makes one"
        return Finding("backup", "FAIL", text)
    return Finding("backup", "ok", f"the last good one was made on {iso(at)}")


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
            " are of another version and continue to count; see `svc rollout status`; `svc rollout resume`, or a"
            " newer version of the service, continues"
        )
        return Finding("workers", "ok" if rollout.reason == "operator" else "FAIL", text)
    if not older:
        return Finding("workers", "ok", "all that are installed are of this version")
    if not config.worker.auto_update:
        return Finding("workers", "ok", f"{older} are of another version; {_BY_HAND} ([worker] auto_update is off)")
    if rollout is None:
        return Finding("workers", "ok", f"{older} are of another version; the service updates them when it runs")
    return Finding("workers", "ok", f"{rollout.updated} updated, {rollout.failed} failed, {older} of another version")


def _waiting(found: Backlog) -> Finding:
    """How many e-mails wait to be sent. Waiting is no problem: after an hour without the service they wait as well."""
    verdict: Verdict = "ok"
    text = "none waits"
    if found.queue.since is not None:
        text = f"{found.queue.waiting} wait to be sent, the oldest since {iso(found.queue.since)}"
        if found.troubles:
            verdict = "warn"
            text += f"; tries failed at: {', '.join(found.troubles)}"
    if found.refused_addresses:
        verdict = "warn"
        text += f"; the addresses of {found.refused_addresses} users are refused by mail servers"
    return Finding("e-mails", verdict, text)


async def look_at_mail(config: Config) -> Finding:
    """Whether e-mails can leave: of a server, whether it takes our sign-in and our sender."""
    try:
        await check_mail(config.mail)
    except OSError as error:
        return Finding("mail", "FAIL", f"{config.mail.transport}: {error}; check [mail]")
    return Finding("mail", "ok", f"transport {config.mail.transport} is ready")


def _address(config: Config) -> Finding:
    """Whether installed workers can reach the service. (That the name leads here only a worker's push can tell.)"""
    push_url = config.push_url(config.http.base_url)
    trouble = config.push_trouble(push_url)
    if trouble is not None:
        return Finding("address", "FAIL", trouble)
    if config.worker.allow_local_push:
        text = "[worker] allow_local_push is set: only workers of an emulated platform on this machine can push"
        return Finding("address", "warn", text)
    text = f"workers push to {push_url}; bot protection in front of it must let them pass (docs/cloudflare.md)"
    return Finding("address", "ok", text)


def _metrics(config: Config) -> Finding:
    """Check whether the metrics' address keeps out clients of other networks.

    Every address of the machine is the usual choice in a container, where the published port decides. So that is a
    warning, and a public address a failure.
    """
    bind = config.metrics.bind
    if not bind:
        return Finding("metrics", "ok", "[metrics] bind is empty: they are not served")
    host = bind.rpartition(":")[0].strip("[]")
    url = f"http://{bind}/metrics"
    address = _ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return Finding("metrics", "ok", f"{url}, for this machine alone")
    if address is not None and address.is_unspecified:
        text = f"[metrics] bind: {host} is every address of this machine or container, and they ask for no password;"
        return Finding("metrics", "warn", f"{text} {_PRIVATE}, or publish the container's port to the scraper alone")
    if address is not None and address.is_global:
        text = f"[metrics] bind: {host} is a public address, and they ask for no password; {_PRIVATE}"
        return Finding("metrics", "FAIL", text)
    return Finding("metrics", "ok", f"{url}; they ask for no password: let nobody but the scraper reach it")


_PRIVATE = "bind a private one"


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that `host` is, also in the system's short forms ("0" is 0.0.0.0); None: it is a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped
