"""Updating the worker: the tables first, then the script, while the account keeps serving.

    tables ──► script ──► cron ──► selfcheck (the new worker runs) ──► done, with its first push

Until the upload, the old worker runs. The new tables only add to what it uses, so visitors notice nothing. Its database
and all data stay. The new worker gets its own key, and the old key is accepted for one more day. Cloudflare's
documentation and its users disagree on whether an upload keeps a secret that it does not include, and the service would
reject pushes from a worker without a key. A failed update leaves the account as it was.
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
    # If a resource is missing, its owner deleted it, and an update does not restore it.
    if await check_script(context, access, account) is None:
        raise EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was deleted outside the service.")
    if account.database_id is None or await d1.get(access, account.database_id) is None:
        raise EdgeRefused("resource_drift", "The worker's database was deleted outside the service.")
    await migrate(access, account.database_id, context.bundle)


WORK = Work(
    begin=installs.begin_update,
    steps=(("database", _migrate), ("script", upload_script), ("cron", set_cron)),
    done=installs.updated,
    failed=installs.fail_update,
    unconfirmed=installs.end_selfcheck,
)
