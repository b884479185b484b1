"""Installing the worker: database, script, cron. Each step can be repeated; its effect is looked up, not assumed.

    database ──► schema ──► script ──► cron ──► selfcheck (account `ready`) ──► done, by the worker's first push

An operation is a row: a process killed anywhere goes on from it at the next start. Nothing that the service did not
make is touched: a script is ours by its tag, a database because it was recorded that there was none before.
"""

from __future__ import annotations

import logging
import math
import zlib
from typing import TYPE_CHECKING

import trio

from svc.edge import d1, workers
from svc.edge.answers import DailyLimit
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown, ServiceError, StoreUnavailable
from svc.ids import digest, new_id, new_secret
from svc.store import accounts, installs, operations
from svc.worker import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.account import Timers
    from svc.actors.context import Context, Remember
    from svc.edge.client import Access
    from svc.model import Account, Operation

log = logging.getLogger(__name__)

# Transient failures: waits of 2, 4, 8 … s; after these the install has failed and the user is told.
_ATTEMPTS = 8
_ONE_TRY_S = 120.0
# Found by name right after we tried to make it, and younger than that try: ours. Clocks may differ by this much.
_CLOCK_SKEW_MS = 300_000


def ownership_tag(account_id: str) -> str:
    """The tag on the script by which the service knows its own."""
    return f"svc-account:{account_id}"


async def begin(context: Context, account_id: str, remember: Remember[Account]) -> Account:
    """Record that the worker is to be installed (again) and answer; the duty below does it.

    Raises Conflict account_not_ready, operation_in_progress.
    """
    return await context.store.run(remember(installs.begin_install(account_id, new_id("op"), context.clock())))


async def resume_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Go on with the account's install, or end its self-check when the window is over."""
    operation = await context.store.read(operations.running(account.id))
    if operation is None or operation.kind not in ("install", "update"):
        return math.inf
    if operation.step == operations.SELFCHECK:
        return await _watch_selfcheck(context, operation)
    if trio.current_time() < timers.operation_at:
        return timers.operation_at
    try:
        with trio.fail_after(_ONE_TRY_S):
            await _install(context, account, operation)
    except DailyLimit as error:  # nothing is taken before midnight UTC: the user may want to know now
        note = ServiceError("cloudflare_error", error.message, error.details).noted()
        await context.store.run(installs.fail_install(operation, note, context.clock()))
    except (EdgeUnavailable, trio.TooSlowError) as error:
        if operation.attempts + 1 < _ATTEMPTS:
            wait_s = 2.0 ** (operation.attempts + 1)
            log.info(
                "install waits", extra={"account": account.id, "attempt": operation.attempts + 1, "wait_s": wait_s}
            )
            await context.store.run(operations.count_attempt(operation.id, context.clock()))
            timers.operation_at = trio.current_time() + wait_s
            return timers.operation_at
        reason = error.message if isinstance(error, ServiceError) else "It took too long."
        note = ServiceError("cloudflare_error", f"The edge platform failed: {reason}").noted()
        await context.store.run(installs.fail_install(operation, note, context.clock()))
    except StoreUnavailable:
        raise  # no fault of the install
    except ServiceError as error:
        await context.store.run(installs.fail_install(operation, error.noted(), context.clock()))
    timers.operation_at = 0
    return trio.current_time()


async def _watch_selfcheck(context: Context, operation: Operation) -> float:
    ends_at = operation.updated_at + int(context.config.timing.selfcheck_window_s * 1000)
    now = context.clock()
    if now < ends_at:
        return trio.current_time() + (ends_at - now) / 1000
    await context.store.run(installs.end_selfcheck(operation, now))
    return math.inf


async def _install(context: Context, account: Account, operation: Operation) -> None:
    await context.store.run(installs.installing(account.id))
    at = context.access(account).settling(60)
    database_id = await _database(context, at, account, operation)
    await _schema(context, at, database_id)
    etag = await _script(context, at, account, operation, database_id)
    await _step(context, operation, "cron")
    await workers.set_schedules(at, SCRIPT_NAME, [context.bundle.cron])
    await workers.disable_subdomain(at, SCRIPT_NAME)
    await context.store.run(
        installs.installed(
            operation,
            bundle=context.bundle.sha256,
            schema=context.bundle.schema,
            script_etag=etag,
            now=context.clock(),
        )
    )


async def _step(context: Context, operation: Operation, step: str, **made: str | int) -> None:
    await context.store.run(operations.set_step(operation.id, step, made, context.clock()))


async def _database(context: Context, at: Access, account: Account, operation: Operation) -> str:
    """The id of the account's database, made when there is none. Raises EdgeRefused name_taken, resource_drift."""
    if account.database_id is not None:
        if await d1.get(at, account.database_id) is not None:
            return account.database_id
        await context.store.run(accounts.forget_database(account.id))
    found = await d1.find(at, DATABASE_NAME)
    sought_at = operation.made.get("database_sought_at")
    if found is not None:
        ours = isinstance(sought_at, int) and found.created_at >= sought_at - _CLOCK_SKEW_MS
        if not ours:
            raise EdgeRefused(
                "name_taken", f"The account has a database {DATABASE_NAME} that the service did not make."
            )
    else:
        # Written down before it is made: a database of this name that is found later is then the one made here.
        await _step(context, operation, "database", database_sought_at=context.clock())
        try:
            found = await d1.create(at, DATABASE_NAME)
        except EdgeUnknown:
            found = await d1.find(at, DATABASE_NAME)
            if found is None:
                raise
    await context.store.run(accounts.set_database(account.id, found.id))
    return found.id


async def _schema(context: Context, at: Access, database_id: str) -> None:
    """The worker's tables. Every statement can be repeated."""
    await d1.query(at, database_id, [(statement, []) for statement in context.bundle.schema_statements])


async def _script(context: Context, at: Access, account: Account, operation: Operation, database_id: str) -> str:
    """Upload the worker with a new key of its own; returns its etag. Raises EdgeRefused name_taken, resource_drift."""
    script = await workers.get_script(at, SCRIPT_NAME)
    if script is not None:
        if ownership_tag(account.id) not in script.tags:
            raise EdgeRefused("name_taken", f"The account has a worker {SCRIPT_NAME} that the service did not make.")
        uploading = operation.made.get("uploading") is not None
        if account.script_etag is not None and script.etag != account.script_etag and not uploading:
            raise EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was changed outside the service.")
    worker_key = new_secret("svcw_")
    await context.store.run(accounts.add_worker_key(account.id, digest(worker_key)))
    await _step(context, operation, "script", uploading=1)
    uploaded = await workers.upload(
        at,
        SCRIPT_NAME,
        module=context.bundle.module,
        main_module=context.bundle.main_module,
        compatibility_date=context.bundle.compatibility_date,
        compatibility_flags=list(context.bundle.compatibility_flags),
        bindings=_bindings(context, account, operation, database_id, worker_key),
        tags=[ownership_tag(account.id)],
    )
    previous_until = context.clock() + int(context.config.timing.previous_key_s * 1000)
    await context.store.run(accounts.retire_worker_keys(account.id, digest(worker_key), previous_until))
    return uploaded.etag


def _bindings(
    context: Context, account: Account, operation: Operation, database_id: str, worker_key: str
) -> list[workers.Binding]:
    return [
        workers.database_binding("DB", database_id),
        workers.text_binding("PUSH_URL", context.push_url),
        workers.secret_binding("WORKER_KEY", worker_key),
        workers.text_binding("BUNDLE", context.bundle.sha256),
        workers.text_binding("INSTALL", operation.id),
        workers.text_binding("PUSH_MINUTE", str(push_minute(account.edge_account_id))),
    ]


def push_minute(edge_account_id: str) -> int:
    """The minute of the hour at which an account's worker pushes: spread, so that not all come at once.

    From 3 on, so that the last events of the hour before have been written and folded; to 52, so that a failed push
    has time for another try within the hour.
    """
    return 3 + zlib.crc32(edge_account_id.encode()) % 50
