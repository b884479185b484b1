"""Installing the worker: each step can be repeated; its effect is looked up, not assumed.

    database and its tables ──► subdomain ──► script ──► cron ──► selfcheck (account `ready`) ──► done, by a first push

Nothing that the service did not make is touched: a script is ours by its tag, a database because it was recorded that
there was none before. What is asked of the platform is recorded before it is asked, and its outcome right after: an
install that failed anywhere can be begun again, and finds what the one before it left.
"""

from __future__ import annotations

import logging
import zlib
from typing import TYPE_CHECKING

from svc.actors.operations.bootstrap import probe
from svc.actors.operations.run import Work
from svc.actors.sync.schema import migrate
from svc.actors.sync.script import ownership_tag, standing, upload_of
from svc.clock import DAY_MS
from svc.edge import d1, workers
from svc.edge.access import LATE_MS
from svc.errors import CATALOGUE, EdgeRefused, EdgeUnavailable, EdgeUnknown
from svc.ids import digest, new_secret, new_subdomain
from svc.store import accounts, installs
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.operations.run import Job
    from svc.edge.access import Access
    from svc.edge.d1 import Database
    from svc.edge.workers import Script
    from svc.model import Account

log = logging.getLogger(__name__)

# How long the worker's key from before a reinstall is accepted.
_PREVIOUS_KEY_MS = DAY_MS
# Names on workers.dev that are tried, all of them random.
_SUBDOMAIN_TRIES = 3
# A database of the worker's name that was made about when we asked for one, and there was none before: ours. The clocks
# may differ by this much.
_CLOCK_SKEW_MS = 300_000


async def _make_database(job: Job) -> None:
    context, account, access = job.context, job.account, _access(job)
    await context.store.run(installs.installing(account.id, context.clock()))
    await probe(access)  # a connect does not wait for a new token until it works everywhere
    await check_script(context, access, account)  # before anything is made that a foreign script would make useless
    await migrate(access, await _database(context, access, account), context.bundle)


async def _register_subdomain(job: Job) -> None:
    """Give the account a name on workers.dev if it has none: nobody used Workers there before.

    The worker itself is not reached by it (see `set_cron`). The name is for good, so it tells nothing.
    """
    access = _access(job)
    for _ in range(_SUBDOMAIN_TRIES):
        if await workers.has_subdomain(access):
            return
        try:
            await workers.register_subdomain(access, new_subdomain())
        except EdgeRefused as refused:
            # Another account has this name; or an earlier try's answer was lost, which the next look shows.
            if refused.code not in ("name_taken", "cloudflare_error"):
                raise
            log.info("no workers.dev name", extra={"account": job.account.id, "why": refused.message})
    if not await workers.has_subdomain(access):
        raise EdgeRefused("subdomain_required", CATALOGUE["subdomain_required"].message)


async def upload_script(job: Job) -> None:
    """Upload the worker with a new key of its own, unless an earlier try of this operation has."""
    context, account, operation, access = job.context, job.account, job.operation, _access(job)
    if account.database_id is None:
        raise AssertionError("a worker is to be uploaded before its database is made")
    context.check_push_url()
    script = await check_script(context, access, account)
    own = (account.install_id, account.edge_bundle) == (operation.id, context.bundle.sha256)
    if own and script is not None and script.etag == account.script_etag:
        return
    worker_key = new_secret("svcw_")
    await context.store.run(installs.begin_upload(operation, digest(worker_key)))
    content = upload_of(
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
        raise EdgeUnavailable("The edge platform does not list the worker yet.")
    now = context.clock()
    await context.store.run(
        installs.uploaded(
            operation,
            bundle=context.bundle.sha256,
            schema=context.bundle.schema,
            script_etag=uploaded.etag,
            key_digest=digest(worker_key),
            keys_until=now + _PREVIOUS_KEY_MS,
            now=now,
        )
    )


async def set_cron(job: Job) -> None:
    """Let the worker run by its cron, and nowhere on workers.dev."""
    access = _access(job)
    await workers.set_schedules(access, SCRIPT_NAME, [job.context.bundle.cron])
    await workers.disable_subdomain(access, SCRIPT_NAME)


def _access(job: Job) -> Access:
    """The account with its working token, which may have been made a moment ago."""
    return job.context.access(job.account).settling(job.context.config.edge.settling_s)


async def _database(context: Context, access: Access, account: Account) -> str:
    """The id of the account's database, made when there is none. Raises EdgeRefused name_taken."""
    if account.database_id is not None:
        if await d1.get(access, account.database_id) is not None:
            return account.database_id
        await context.store.run(accounts.forget_database(account.id))
    found = await d1.find(access, DATABASE_NAME)
    if found is None:
        # Recorded before it is made: a database of this name that is found later is then the one made here.
        await context.store.run(accounts.seek_database(account.id, context.clock()))
        found = await _create_database(access, account)
    elif not may_be_ours(account, found):
        raise EdgeRefused("name_taken", f"The account has a database {DATABASE_NAME} that the service did not make.")
    await context.store.run(accounts.set_database(account.id, found.id))
    return found.id


def may_be_ours(account: Account, found: Database) -> bool:
    """Whether a database of the worker's name that is not recorded is the one that was asked for."""
    sought_at = account.database_sought_at
    return sought_at is not None and sought_at - _CLOCK_SKEW_MS <= found.created_at <= sought_at + LATE_MS


async def _create_database(access: Access, account: Account) -> Database:
    """Make the database; one of its name that is suddenly there is that of a try whose answer was lost."""
    try:
        return await d1.create(access, DATABASE_NAME, account.location)
    except (EdgeUnknown, EdgeRefused) as error:
        if isinstance(error, EdgeRefused) and error.code != "name_taken":
            raise
        found = await d1.find(access, DATABASE_NAME)
        if found is None:
            raise
        return found


async def check_script(context: Context, access: Access, account: Account) -> Script | None:
    """The worker that stands at the platform, which an upload may replace.

    Raises EdgeRefused: name_taken, another's script has our name; resource_drift, ours was changed outside.
    """
    script = await workers.get_script(access, SCRIPT_NAME)
    if script is None:
        return None
    if ownership_tag(account.id) not in script.tags:
        raise EdgeRefused("name_taken", f"The account has a worker {SCRIPT_NAME} that the service did not make.")
    if await standing(context, access, account, script) == "changed":
        raise EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was changed outside the service.")
    return script


def push_second(edge_account_id: str) -> int:
    """The second of the hour at which an account's worker pushes: spread, so that not all come at once.

    From minute 3 on, so that the last events of the hour before have been written and folded; to 52, so that a failed
    push has time for another try within the hour. A cron begins with its minute and waits for the second: one of the
    first 45, so that with the 15 seconds that it gives the service it ends before the next begins.
    """
    seconds, minute = divmod(zlib.crc32(edge_account_id.encode()), 50)
    return (3 + minute) * 60 + seconds % 45


WORK = Work(
    begin=installs.begin_install,
    steps=(
        ("database", _make_database),
        ("subdomain", _register_subdomain),
        ("script", upload_script),
        ("cron", set_cron),
    ),
    done=installs.installed,
    failed=installs.fail_install,
    unconfirmed=installs.end_selfcheck,
)
