"""`svc check`: check everything that the service needs. Each finding says what is wrong and how to fix it."""

from __future__ import annotations

import ipaddress
import socket
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import trio

from svc.clock import DAY_MS, iso, system_clock
from svc.commands.config_file import has_exposed_password
from svc.commands.output import plural
from svc.config import ConfigError
from svc.errors import ServiceError, StoreUnavailable
from svc.http.serving.web import load_web
from svc.identity.operator import load_identity
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


_MANUALLY = "update each account with POST /v1/accounts/{id}/install"


Verdict = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True)
class Finding:
    """The result of checking one part. `warn`: True if the service works, but the operator should know about a risk."""

    part: str
    verdict: Verdict
    text: str


_UNKNOWN_WORKERS = Finding("workers", "ok", "versions unknown, because the store was not read")
_UNKNOWN_BACKUP = Finding("backup", "ok", "time of the last backup unknown, because the store was not read")
# An older backup fails the check, because daily backups are recommended.
_OLD_BACKUP_MS = 2 * DAY_MS
_UNKNOWN_EMAILS = Finding("emails", "ok", "queue length unknown, because the store was not read")


async def check(config: Config, file: Path | None = None) -> list[Finding]:
    """Check all parts, even if one fails. Creates no files or folders.

    `file`: the configuration file, or None if there is none.
    """
    store, sealed, workers, emails, backups = await _store(config, as_is=True)
    return [
        _configuration(file),
        _check_part("worker bundle", lambda: f"schema {load_bundle().schema}, sha256 {load_bundle().sha256[:12]}…"),
        _check_part("web application", lambda: f"built, {load_web().bytes // 1024} KB in memory"),
        _check_part("identity", lambda: _identity(config)),
        _check_part("key file", lambda: _key_file(config, sealed)),
        store,
        backups,
        workers,
        await check_mail_transport(config),
        emails,
        _address(config),
        _metrics(config),
    ]


def _configuration(file: Path | None) -> Finding:
    if file is not None and has_exposed_password(file):
        text = f"{file} contains a password, but other users can read or change it; run: chmod o= {file}"
        return Finding("configuration", "FAIL", text)
    return Finding("configuration", "ok", "all settings are valid")


def _check_part(part: str, describe: Callable[[], str]) -> Finding:
    try:
        return Finding(part, "ok", describe())
    except (ConfigError, OSError) as error:
        return Finding(part, "FAIL", str(error))


def _identity(config: Config) -> str:
    identity = load_identity(config.web)
    logo = "no logo" if identity.logo is None else f"logo {identity.logo.suffix.upper()}"
    return f"name {identity.name}, {logo}, contact {identity.contact or 'not set'}"


def _key_file(config: Config, sealed: dict[str, bytes]) -> str:
    path = config.vault.key_file
    open_vault(config.vault, sealed, make=False)
    if not path.exists():
        return f"{path} will be created at the first start; remember to back it up"
    return (
        f"{path} is readable (mode {stat.S_IMODE(path.stat().st_mode):04o}) and decrypts {plural(len(sealed), 'token')}"
    )


async def check_store(config: Config) -> Finding:
    """Check that the store can be used. Creates an empty store if there is none."""
    return (await _store(config, as_is=False))[0]


async def _store(config: Config, *, as_is: bool) -> tuple[Finding, dict[str, bytes], Finding, Finding, Finding]:
    """Check the store. Return its finding, the sealed tokens, and the findings for Workers, emails and backups."""
    kind = config.store.url.get_secret_value().partition(":")[0]
    try:
        with trio.fail_after(config.edge.timeout_s):
            async with open_store(config.store, as_is=as_is) as store:
                await store.run(small_write())  # fails if the disk is full
                sealed = await store.read(sealed_tokens())
                workers = await _workers(config, store)
                emails = _waiting(await store.read(outbox.backlog()))
                backups = _backup(await store.read(backed_up_at()), system_clock())
                return (
                    Finding("store", "ok", f"{kind} works, and its schema is current"),
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
            _UNKNOWN_WORKERS,
            _UNKNOWN_EMAILS,
            _UNKNOWN_BACKUP,
        )


def _backup(at: int | None, now: int) -> Finding:
    """Check the age of the last backup. A missing backup is not a failure, because operators may use other tools."""
    if at is None:
        return Finding("backup", "ok", "no backup with svc backup yet (docs/operate/backup.md)")
    if now - at > _OLD_BACKUP_MS:
        text = f"the last backup is from {iso(at)}, more than two days ago; run: svc backup FILE"
        return Finding("backup", "FAIL", text)
    return Finding("backup", "ok", f"the last backup is from {iso(at)}")


async def _workers(config: Config, store: Store) -> Finding:
    """Check whether the installed Workers have the current version or are being updated to it."""
    try:
        bundle = load_bundle().sha256
    except ConfigError:
        return _UNKNOWN_WORKERS
    older = await store.read(rollouts.outdated(bundle))
    rollout = await store.read(rollouts.current(bundle))
    if rollout is not None and rollout.state == "halted":
        # A rollout that the operator halted is not a failure.
        text = (
            f"the rollout is halted ({rollout.reason}): {rollout.failed} failed, {rollout.updated} updated, {older} on"
            " another version. All Workers keep counting. See `svc rollout status`; to continue, run `svc rollout"
            " resume` or install a newer version of the service"
        )
        return Finding("workers", "ok" if rollout.reason == "operator" else "FAIL", text)
    if not older:
        return Finding("workers", "ok", "all installed Workers have the current version")
    if not config.worker.auto_update:
        return Finding("workers", "ok", f"{older} on another version; {_MANUALLY} ([worker] auto_update is off)")
    if rollout is None:
        return Finding("workers", "ok", f"{older} on another version; the service updates them when it runs")
    return Finding("workers", "ok", f"{rollout.updated} updated, {rollout.failed} failed, {older} on another version")


def _waiting(backlog: Backlog) -> Finding:
    """Check the email queue.

    Queued emails alone are not a problem, because emails stay in the queue while the service is stopped.
    """
    verdict: Verdict = "ok"
    text = "none queued"
    if backlog.queue.since is not None:
        text = f"{backlog.queue.waiting} queued, the oldest since {iso(backlog.queue.since)}"
        if backlog.errors:
            verdict = "warn"
            text += f"; failed attempts: {', '.join(backlog.errors)}"
    if backlog.refused_addresses:
        verdict = "warn"
        text += f"; mail servers reject the addresses of {plural(backlog.refused_addresses, 'user')}"
    return Finding("emails", verdict, text)


async def check_mail_transport(config: Config) -> Finding:
    """Check that emails can be sent: the folder is writable, or the server accepts the credentials and the sender."""
    try:
        await check_mail(config.mail)
    except OSError as error:
        return Finding("mail", "FAIL", f"{config.mail.transport}: {error}; check [mail]")
    return Finding("mail", "ok", f"transport {config.mail.transport} is ready")


def _address(config: Config) -> Finding:
    """Check that the configured URL is one that Workers can reach.

    Only a push can prove that the host name resolves to this service.
    """
    push_url = config.push_url(config.http.base_url)
    problem = config.push_url_problem(push_url)
    if problem is not None:
        return Finding("address", "FAIL", problem)
    if config.worker.allow_local_push:
        text = "[worker] allow_local_push is set, so only Workers of an emulated platform on this machine can push"
        return Finding("address", "warn", text)
    text = f"workers push to {push_url}; bot protection in front of it must allow them (docs/use/cloudflare.md)"
    return Finding("address", "ok", text)


def _metrics(config: Config) -> Finding:
    """Check that the metrics are not served on a public address.

    A public address is a failure. Binding to all addresses is only a warning, because it is common in containers,
    where the published port determines who has access.
    """
    bind = config.metrics.bind
    if not bind:
        return Finding("metrics", "ok", "disabled ([metrics] bind is empty)")
    host = bind.rpartition(":")[0].strip("[]")
    url = f"http://{bind}/metrics"
    address = _ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return Finding("metrics", "ok", f"{url}, on this machine only")
    if address is not None and address.is_unspecified:
        text = f"[metrics] bind: {host} means all addresses of this machine or container, and metrics need no password;"
        return Finding("metrics", "warn", f"{text} {_PRIVATE}, or publish the container's port only to the scraper")
    if address is not None and address.is_global:
        text = f"[metrics] bind: {host} is a public address, and metrics need no password; {_PRIVATE}"
        return Finding("metrics", "FAIL", text)
    return Finding("metrics", "ok", f"{url}, without a password; allow access only from the scraper")


_PRIVATE = "bind a private address"


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address, including short forms ("0" is 0.0.0.0). Return None for a host name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped
