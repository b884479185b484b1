"""Updating the worker: the tables first, then the script, in an account that goes on to serve.

    tables ──► script ──► cron ──► selfcheck (the old worker's place is taken) ──► done, by a first push

Until the upload the old worker runs, with tables to which something was added; visitors notice nothing. Its database
and everything in it stay. The new worker gets a key of its own, and the old one's is accepted for a day: whether an
upload can keep a secret that it does not name is told differently by the platform's documents and its users, and a
worker without its key would count for nobody. An update that fails leaves the account as it was.
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
    # What is gone was deleted by its owner: an update brings nothing back.
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
