"""Uploads the Worker's script, and compares the script at Cloudflare with the last upload."""

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

# The binding with the id of the operation that uploaded the script. The Worker sends this id in its pushes.
_INSTALL_BINDING = "INSTALL"

UploadStatus = Literal["as_uploaded", "newer", "changed"]


def build_upload(
    bundle: WorkerBundle, database_id: str, *, push_url: str, push_second: int, worker_key: str, install: str, tag: str
) -> workers.Upload:
    """Return the upload of the Worker's script with all of its bindings.

    `install`: the id of the operation that makes the upload. The Worker sends this id in its pushes, so the service
    knows which upload is running. `tag`: the ownership tag.
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
    """Return the tag that marks a script as uploaded by the service for this account."""
    return f"svc-account:{account_id}"


async def upload_status(context: Context, access: Access, account: Account, script: Script) -> UploadStatus:
    """Compare `script`, which has the ownership tag, with the recorded upload.

    Returns `as_uploaded` if the script is the recorded upload, even if the response to the upload was lost. Returns
    `newer` if the store has no record of the operation that uploaded the script, for example after the store was
    restored or lost commits. Returns `changed` if the script was changed outside the service.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    if account.script_etag is None or script.etag in (None, account.script_etag):
        return "as_uploaded"
    install = (await workers.text_bindings(access, SCRIPT_NAME)).get(_INSTALL_BINDING, "")
    if install in await context.store.read(operations.with_open_upload(account.id)):
        return "as_uploaded"
    return "newer" if await is_unknown(context, install) else "changed"


async def is_unknown(context: Context, operation_id: str) -> bool:
    """Return True if the store has no operation with this id."""
    return is_id("op", operation_id) and not await context.store.read(operations.exists(operation_id))
