"""Checks of the store, and of the backups, Workers and emails recorded in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from svc.clock import DAY_MS, iso, system_clock
from svc.commands.checks.finding import Finding, Verdict
from svc.commands.output import plural
from svc.config import ConfigError
from svc.errors import ServiceError, StoreUnavailable
from svc.store import open_store, outbox, rollouts
from svc.store.engines.migrate import NotReady
from svc.store.engines.watch import small_write
from svc.store.sealed_secrets import sealed_secrets
from svc.store.service_state import backed_up_at
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from svc.config import Config
    from svc.store.outbox import Backlog
    from svc.store.tx import Store

# The time limit for opening and reading the store.
_TIMEOUT_S = 15
# A backup that is older than this fails the check, because daily backups are recommended.
_OLD_BACKUP_MS = 2 * DAY_MS
_MANUALLY = "update each account with POST /v1/accounts/{id}/install"
_NOT_READ = "unknown, because the store was not read"
_UNKNOWN_BACKUP = Finding("backup", "ok", f"time of the last backup {_NOT_READ}")
_UNKNOWN_WORKERS = Finding("workers", "ok", f"versions {_NOT_READ}")
_UNKNOWN_EMAILS = Finding("emails", "ok", f"queue length {_NOT_READ}")


@dataclass(frozen=True)
class InStore:
    """The findings about a store and its content, and the encrypted secrets by owner id."""

    store: Finding
    backup: Finding = _UNKNOWN_BACKUP
    workers: Finding = _UNKNOWN_WORKERS
    emails: Finding = _UNKNOWN_EMAILS
    sealed: dict[str, bytes] = field(default_factory=dict)


async def check_store(config: Config) -> Finding:
    """Check that the store can be used. Creates an empty store if there is none."""
    return (await read_store(config, as_is=False)).store


async def read_store(config: Config, *, as_is: bool) -> InStore:
    """Check the store and its content. `as_is`: create no files, and do not migrate."""
    kind = config.store.url.get_secret_value().partition(":")[0]
    try:
        with trio.fail_after(_TIMEOUT_S):
            async with open_store(config.store, as_is=as_is) as store:
                await store.run(small_write())  # fails if the disk is full
                return InStore(
                    Finding("store", "ok", f"{kind} works, and its schema is current"),
                    _backup(await store.read(backed_up_at()), system_clock()),
                    await _workers(config, store),
                    emails_finding(await store.read(outbox.backlog())),
                    await store.read(sealed_secrets()),
                )
    except (ConfigError, ServiceError, OSError, trio.TooSlowError) as error:
        text = f"{error}; check [store] url"
        if isinstance(error, trio.TooSlowError):
            text = f"did not respond within {_TIMEOUT_S} s; check [store] url"
        elif isinstance(error, NotReady):
            text = str(error)
        elif isinstance(error, StoreUnavailable):
            text = error.message
        return InStore(Finding("store", "ok" if isinstance(error, NotReady) else "FAIL", f"{kind}: {text}"))


def _backup(at: int | None, now: int) -> Finding:
    """Check the age of the last backup. A missing backup is not a failure, because operators may use other tools."""
    if at is None:
        return Finding("backup", "ok", "no backup has been made with svc backup yet (docs/operate/backup.md)")
    if now - at > _OLD_BACKUP_MS:
        text = f"the last backup is from {iso(at)}, more than two days ago; run: svc backup FILE"
        return Finding("backup", "FAIL", text)
    return Finding("backup", "ok", f"the last backup is from {iso(at)}")


async def _workers(config: Config, store: Store) -> Finding:
    """Check whether the installed Workers have the current version or are being updated to it."""
    try:
        bundle = load_bundle().sha256
    except ConfigError:
        return Finding("workers", "ok", "versions unknown, because the Worker bundle of this version is missing")
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
        return Finding("workers", "ok", f"{older} on another version; the service will update them when it runs")
    return Finding("workers", "ok", f"{rollout.updated} updated, {rollout.failed} failed, {older} on another version")


def emails_finding(backlog: Backlog) -> Finding:
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
