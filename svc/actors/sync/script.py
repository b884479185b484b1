"""Whose script is it? What stands at the platform under the worker's name, compared with what we uploaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc.edge import workers
from svc.ids import is_id
from svc.store import operations
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.workers import Script
    from svc.model import Account
    from svc.worker.bundle import WorkerBundle

# The binding that tells a script which operation uploaded it; its pushes carry it back.
_INSTALL_BINDING = "INSTALL"

Standing = Literal["as_uploaded", "newer", "changed"]


def upload_of(
    bundle: WorkerBundle, database_id: str, *, push_url: str, push_second: int, worker_key: str, install: str, tag: str
) -> workers.Upload:
    """The worker as it is uploaded, with all that it finds in its `env`.

    `install`: what its pushes carry back, to tell which upload runs. `tag`: by which its owner knows it.
    """
    return workers.Upload(
        module=bundle.module,
        main_module=bundle.main_module,
        compatibility_date=bundle.compatibility_date,
        compatibility_flags=bundle.compatibility_flags,
        bindings=(
            workers.database_binding("DB", database_id),
            workers.text_binding("PUSH_URL", push_url),
            workers.secret_binding("WORKER_KEY", worker_key),
            workers.text_binding("BUNDLE", bundle.sha256),
            workers.text_binding(_INSTALL_BINDING, install),
            workers.text_binding("PUSH_SECOND", str(push_second)),
        ),
        tags=(tag,),
    )


def ownership_tag(account_id: str) -> str:
    """The tag on the script by which the service knows its own."""
    return f"svc-account:{account_id}"


async def standing(context: Context, access: Access, account: Account, script: Script) -> Standing:
    """How `script`, which carries our tag, compares with our record of it.

    as_uploaded: as an upload of ours left it, also one whose answer was never recorded. newer: uploaded by an operation
    that this store does not know, which was restored from a backup or lost commits. changed: outside the service.
    Raises EdgeRefused, EdgeUnavailable.
    """
    if account.script_etag is None or script.etag in (None, account.script_etag):
        return "as_uploaded"
    install = (await workers.text_bindings(access, SCRIPT_NAME)).get(_INSTALL_BINDING, "")
    if install in await context.store.read(operations.with_open_upload(account.id)):
        return "as_uploaded"
    return "newer" if await is_unknown(context, install) else "changed"


async def is_unknown(context: Context, operation_id: str) -> bool:
    """Whether this is the id of an operation that this store does not know."""
    return is_id("op", operation_id) and not await context.store.read(operations.exists(operation_id))
