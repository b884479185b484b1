"""Installing the worker: database, script, cron. Each step can be repeated; its effect is looked up, not assumed.

    database ──► schema ──► script ──► cron ──► selfcheck (account `ready`) ──► done, by the worker's first push

An operation is a row: a process killed anywhere goes on from it at the next start. Nothing that the service did not
make is touched: a script is ours by its tag, a database because it was recorded that there was none before. What was
asked of the platform is recorded before it is asked, and its outcome right after: an install that failed anywhere can
be begun again, and finds what the one before it left.
"""

from __future__ import annotations

import logging
import math
import zlib
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.script import INSTALL_BINDING, is_as_uploaded, ownership_tag
from svc.edge import d1, workers
from svc.edge.answers import DailyLimit
from svc.edge.client import LATE_MS
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown, ServiceError, StoreUnavailable
from svc.ids import digest, new_id, new_secret
from svc.store import accounts, installs, operations
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.edge.client import Access
    from svc.edge.d1 import Database
    from svc.model import Account, Operation

R = TypeVar("R")

log = logging.getLogger(__name__)

# Transient failures: waits of 2, 4, 8 … s; after these the install has failed and the user is told.
_ATTEMPTS = 8
_ONE_TRY_S = 120.0
# A database of the worker's name that was made about when we asked for one, and there was none before: ours. The clocks
# may differ by this much.
_CLOCK_SKEW_MS = 300_000


async def begin(context: Context, account_id: str, commit: Commit[Account, R]) -> R:
    """Record that the worker is to be installed (again) and answer; the duty below does it.

    Raises Conflict account_not_ready, operation_in_progress.
    """
    return await context.store.run(commit(installs.begin_install(account_id, new_id("op"), context.clock())))


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
        note = ServiceError("cloudflare_error", error.message, error.details).note()
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
        note = ServiceError("cloudflare_error", f"The edge platform failed: {reason}").note()
        await context.store.run(installs.fail_install(operation, note, context.clock()))
    except StoreUnavailable:
        raise  # no fault of the install
    except ServiceError as error:
        await context.store.run(installs.fail_install(operation, error.note(), context.clock()))
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
    access = context.access(account).settling(60)
    await _check_script(context, access, account)  # before anything is made that a foreign script would make useless
    database_id = await _database(context, access, account, operation)
    await _schema(context, access, database_id)
    await _check_script(context, access, account)
    await _upload(context, access, account, operation, database_id)
    await context.store.run(operations.set_step(operation.id, "cron", context.clock()))
    await workers.set_schedules(access, SCRIPT_NAME, [context.bundle.cron])
    await workers.disable_subdomain(access, SCRIPT_NAME)
    await context.store.run(installs.installed(operation, context.clock()))


async def _database(context: Context, access: Access, account: Account, operation: Operation) -> str:
    """The id of the account's database, made when there is none. Raises EdgeRefused name_taken."""
    if account.database_id is not None:
        if await d1.get(access, account.database_id) is not None:
            return account.database_id
        await context.store.run(accounts.forget_database(account.id))
    found = await d1.find(access, DATABASE_NAME)
    sought_at = account.database_sought_at
    if found is None:
        await context.store.run(operations.set_step(operation.id, "database", context.clock()))
        # Recorded before it is made: a database of this name that is found later is then the one made here.
        sought_at = context.clock()
        await context.store.run(accounts.seek_database(account.id, sought_at))
        found = await _create_database(access)
    elif sought_at is None or not sought_at - _CLOCK_SKEW_MS <= found.created_at <= sought_at + LATE_MS:
        raise _foreign_database()
    await context.store.run(accounts.set_database(account.id, found.id))
    return found.id


async def _create_database(access: Access) -> Database:
    """Make the database; one of its name that is suddenly there is that of a try whose answer was lost."""
    try:
        return await d1.create(access, DATABASE_NAME)
    except (EdgeUnknown, EdgeRefused) as error:
        if isinstance(error, EdgeRefused) and error.code != "name_taken":
            raise
        found = await d1.find(access, DATABASE_NAME)
        if found is None:
            raise
        return found


def _foreign_database() -> EdgeRefused:
    return EdgeRefused("name_taken", f"The account has a database {DATABASE_NAME} that the service did not make.")


async def _schema(context: Context, access: Access, database_id: str) -> None:
    """The worker's tables. Every statement can be repeated."""
    await d1.query(access, database_id, [(statement, []) for statement in context.bundle.schema_statements])


async def _check_script(context: Context, access: Access, account: Account) -> None:
    """Raises EdgeRefused: name_taken, another's script has our name; resource_drift, ours was changed outside."""
    script = await workers.get_script(access, SCRIPT_NAME)
    if script is None:
        return
    if ownership_tag(account.id) not in script.tags:
        raise EdgeRefused("name_taken", f"The account has a worker {SCRIPT_NAME} that the service did not make.")
    if not await is_as_uploaded(context, access, account, script):
        raise EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was changed outside the service.")


async def _upload(context: Context, access: Access, account: Account, operation: Operation, database_id: str) -> None:
    """Upload the worker with a new key of its own."""
    worker_key = new_secret("svcw_")
    await context.store.run(installs.begin_upload(operation, digest(worker_key), context.clock()))
    uploaded = await workers.upload(
        access,
        SCRIPT_NAME,
        module=context.bundle.module,
        main_module=context.bundle.main_module,
        compatibility_date=context.bundle.compatibility_date,
        compatibility_flags=list(context.bundle.compatibility_flags),
        bindings=_bindings(context, account, operation, database_id, worker_key),
        tags=[ownership_tag(account.id)],
    )
    now = context.clock()
    await context.store.run(
        installs.uploaded(
            operation,
            bundle=context.bundle.sha256,
            schema=context.bundle.schema,
            script_etag=uploaded.etag,
            key_digest=digest(worker_key),
            keys_until=now + int(context.config.timing.previous_key_s * 1000),
            now=now,
        )
    )


def _bindings(
    context: Context, account: Account, operation: Operation, database_id: str, worker_key: str
) -> list[workers.Binding]:
    return [
        workers.database_binding("DB", database_id),
        workers.text_binding("PUSH_URL", context.push_url),
        workers.secret_binding("WORKER_KEY", worker_key),
        workers.text_binding("BUNDLE", context.bundle.sha256),
        workers.text_binding(INSTALL_BINDING, operation.id),
        workers.text_binding("PUSH_MINUTE", str(push_minute(account.edge_account_id))),
    ]


def push_minute(edge_account_id: str) -> int:
    """The minute of the hour at which an account's worker pushes: spread, so that not all come at once.

    From 3 on, so that the last events of the hour before have been written and folded; to 52, so that a failed push
    has time for another try within the hour.
    """
    return 3 + zlib.crc32(edge_account_id.encode()) % 50
