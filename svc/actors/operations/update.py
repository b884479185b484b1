"""The update operation. It migrates the Worker's tables and then replaces its script.

The Worker keeps counting and redirecting during the update.

    tables ──► script ──► cron ──► selfcheck (the new Worker runs) ──► done, with its first push

The old Worker runs until the upload. Migrations only add to the tables that the old Worker uses, so visitors do not
notice the update. The database and all its data are kept. If an update fails, the account keeps its previous state.

The new Worker gets a new key, and pushes with the old key are accepted for one more day. The upload must include a key,
because the service rejects pushes without one. Cloudflare's documentation and user reports disagree about whether a
script keeps a secret that an upload omits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.operations.install import check_script, set_cron, upload_script
from svc.actors.operations.run import Work
from svc.actors.sync.schema import migrate
from svc.edge import d1
from svc.errors import EdgeRefused
from svc.store import installs
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.operations.run import Job


async def _migrate(job: Job) -> None:
    context, account = job.context, job.account
    context.check_push_url()
    access = context.access(account)
    # If the script is missing, the customer deleted it. An update must not create it again.
    if await check_script(context, access, account) is None:
        raise EdgeRefused("resource_drift", f"The Worker {SCRIPT_NAME} was deleted outside the service.")
    if account.database_id is None or await d1.get(access, account.database_id) is None:
        raise EdgeRefused("resource_drift", "The Worker's database was deleted outside the service.")
    await migrate(access, account.database_id, context.bundle)


WORK = Work(
    begin=installs.begin_update,
    steps=(("database", _migrate), ("script", upload_script), ("cron", set_cron)),
    done=installs.updated,
    failed=installs.fail_update,
    unconfirmed=installs.end_selfcheck,
)
