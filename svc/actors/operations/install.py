"""The install operation. All steps can be repeated, because each step first checks whether its work is already done.

    database and its tables ──► subdomain ──► script ──► cron ──► selfcheck (account `ready`) ──► done, by a first push

The service does not change resources that it did not create. A script belongs to the service if it has the service's
tag. A database belongs to the service if the store recorded that no database with this name existed before.

The service records each change in the store before it calls Cloudflare, and records the outcome directly afterwards. If
a failed install is repeated, the new attempt therefore finds the resources of the previous attempt.
"""

from __future__ import annotations

import logging
import zlib
from typing import TYPE_CHECKING

from svc.actors.operations.bootstrap import probe
from svc.actors.operations.run import Work
from svc.actors.sync.schema import migrate
from svc.actors.sync.script import build_upload, ownership_tag, upload_status
from svc.clock import DAY_MS
from svc.edge import d1, workers
from svc.edge.access import LATE_MS
from svc.errors import CATALOGUE, EdgeRefused, EdgeUnavailable, EdgeUnknown
from svc.ids import digest, new_secret, new_subdomain
from svc.store import installs
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.operations.run import Job
    from svc.edge.access import Access
    from svc.edge.d1 import Database
    from svc.edge.workers import Script
    from svc.model import Account

log = logging.getLogger(__name__)

# The time for which pushes with the previous key are accepted after an upload with a new key.
_PREVIOUS_KEY_MS = DAY_MS
# The number of attempts to register a random name on workers.dev.
_SUBDOMAIN_TRIES = 3
# The maximum difference between Cloudflare's clock and the service's clock. A database with the Worker's name belongs
# to the service if no such database existed before the service's request, and if it was created at about the time of
# this request.
_CLOCK_SKEW_MS = 300_000


async def _ensure_database(job: Job) -> None:
    context, account, access = job.context, job.account, _access(job)
    await context.store.run(installs.installing(account.id, context.clock()))
    await probe(access)  # test the token, which some of Cloudflare's servers may not know yet
    # Stop before the other steps if another program has uploaded a script with the same name.
    await check_script(context, access, account)
    await migrate(access, await _find_or_create_database(context, access, account), context.bundle)


async def _register_subdomain(job: Job) -> None:
    """Register a workers.dev subdomain if the account has none. Accounts that have never used Workers have none.

    The registration is permanent, and the service chooses a random name. The Worker is not reachable under this
    subdomain (see `set_cron`).
    """
    access = _access(job)
    for _ in range(_SUBDOMAIN_TRIES):
        if await workers.has_subdomain(access):
            return
        try:
            await workers.register_subdomain(access, new_subdomain())
        except EdgeRefused as refused:
            # Either the name is taken, or an earlier attempt succeeded and its response was lost. The next call of
            # `has_subdomain` shows which is the case.
            if refused.code not in ("name_taken", "cloudflare_error"):
                raise
            log.info("workers.dev name not registered", extra={"account": job.account.id, "why": refused.message})
    if not await workers.has_subdomain(access):
        raise EdgeRefused("subdomain_required", CATALOGUE["subdomain_required"].message)


async def upload_script(job: Job) -> None:
    """Upload the Worker with a new key, unless an earlier attempt of this operation has already done so."""
    context, account, operation, access = job.context, job.account, job.operation, _access(job)
    if account.database_id is None:
        raise AssertionError("upload before the database was created")
    context.check_push_url()
    script = await check_script(context, access, account)
    own = (account.install_id, account.edge_bundle) == (operation.id, context.bundle.sha256)
    if own and script is not None and script.etag == account.script_etag:
        return
    worker_key = new_secret("svcw_")
    await context.store.run(installs.begin_upload(operation, digest(worker_key)))
    content = build_upload(
        context.bundle,
        account.database_id,
        push_url=context.push_url,
        push_second=push_second(account.edge_account_id),
        worker_key=worker_key,
        install=operation.id,
        tag=ownership_tag(account.id),
    )
    await workers.upload(access, SCRIPT_NAME, content)
    uploaded = await workers.get_script(access, SCRIPT_NAME)
    if uploaded is None:
        raise EdgeUnavailable("Cloudflare does not list the Worker yet.")
    now = context.clock()
    await context.store.run(
        installs.uploaded(
            operation,
            bundle=context.bundle.sha256,
            schema=context.bundle.schema,
            link_format=context.bundle.link_format,
            script_etag=uploaded.etag,
            keys_until=now + _PREVIOUS_KEY_MS,
            now=now,
        )
    )


async def set_cron(job: Job) -> None:
    """Set the Worker's cron trigger, and disable its workers.dev address."""
    access = _access(job)
    await workers.set_schedules(access, SCRIPT_NAME, [job.context.bundle.cron])
    await workers.disable_subdomain(access, SCRIPT_NAME)


def _access(job: Job) -> Access:
    """Return access to the account with its working token, which may be only seconds old."""
    return job.context.access(job.account).settling(job.context.config.edge.settling_s)


async def _find_or_create_database(context: Context, access: Access, account: Account) -> str:
    """Return the id of the account's database, creating it if necessary.

    Raises EdgeRefused with the code name_taken if the account has a database with this name that the service did not
    create.
    """
    if account.database_id is not None:
        if await d1.get(access, account.database_id) is not None:
            return account.database_id
        await context.store.run(installs.forget_database(account.id))
    existing = await d1.find(access, DATABASE_NAME)
    if existing is None:
        # Record the request before the database is created, so that a later attempt recognizes a database with this
        # name as the service's own.
        await context.store.run(installs.record_database_creation(account.id, context.clock()))
        existing = await _create_database(access, account)
    elif not may_be_ours(account, existing):
        raise EdgeRefused("name_taken", f"The account has a database {DATABASE_NAME} that the service did not create.")
    await context.store.run(installs.set_database(account.id, existing.id))
    return existing.id


def may_be_ours(account: Account, existing: Database) -> bool:
    """Return True if a database with the service's name is the database that the service requested.

    This is needed if the response with the database's id was lost. The function compares the database's creation time
    with the time of the request.
    """
    sought_at = account.database_sought_at
    return sought_at is not None and sought_at - _CLOCK_SKEW_MS <= existing.created_at <= sought_at + LATE_MS


async def _create_database(access: Access, account: Account) -> Database:
    """Create the database.

    If the name is already taken, an earlier attempt created the database and its response was lost. In that case,
    return the existing database.
    """
    try:
        return await d1.create(access, DATABASE_NAME, account.location)
    except (EdgeUnknown, EdgeRefused) as error:
        if isinstance(error, EdgeRefused) and error.code != "name_taken":
            raise
        existing = await d1.find(access, DATABASE_NAME)
        if existing is None:
            raise
        return existing


async def check_script(context: Context, access: Access, account: Account) -> Script | None:
    """Return the existing script if an upload may replace it, or None if there is no script.

    Raises EdgeRefused with the code name_taken if another program uploaded a script with this name, and with the code
    resource_drift if the service's script was changed outside the service.
    """
    script = await workers.get_script(access, SCRIPT_NAME)
    if script is None:
        return None
    if ownership_tag(account.id) not in script.tags:
        raise EdgeRefused("name_taken", f"The account has a Worker {SCRIPT_NAME} that the service did not create.")
    if await upload_status(context, access, account, script) == "changed":
        raise EdgeRefused("resource_drift", f"The Worker {SCRIPT_NAME} was changed outside the service.")
    return script


def push_second(edge_account_id: str) -> int:
    """Return the second of the hour at which an account's Worker pushes.

    The pushes of all accounts are spread over the hour.

    Pushes start at minute 3, when the Worker has written the previous hour's last events and added them to its totals.
    They end at minute 52, so that a failed push can be retried within the hour. A cron run starts at the beginning of a
    minute, and then waits for the account's second within this minute. This second is at most 44, and the service has
    15 seconds to respond, so each run ends before the next one starts.
    """
    seconds, minute = divmod(zlib.crc32(edge_account_id.encode()), 50)
    return (3 + minute) * 60 + seconds % 45


WORK = Work(
    begin=installs.begin_install,
    steps=(
        ("database", _ensure_database),
        ("subdomain", _register_subdomain),
        ("script", upload_script),
        ("cron", set_cron),
    ),
    done=installs.installed,
    failed=installs.fail_install,
    unconfirmed=installs.end_selfcheck,
)
