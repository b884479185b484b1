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

# The binding that tells a script which operation uploaded it; its pushes carry it back.
INSTALL_BINDING = "INSTALL"

Standing = Literal["as_uploaded", "newer", "changed"]


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
    install = (await workers.text_bindings(access, SCRIPT_NAME)).get(INSTALL_BINDING, "")
    if install in await context.store.read(operations.with_open_upload(account.id)):
        return "as_uploaded"
    return "newer" if await is_unknown(context, install) else "changed"


async def is_unknown(context: Context, operation_id: str) -> bool:
    """Whether this is the id of an operation that this store does not know."""
    return is_id("op", operation_id) and not await context.store.read(operations.exists(operation_id))
