"""Whose script is it? What stands at the platform under the worker's name, compared with what we uploaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.edge import workers
from svc.store import operations
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.workers import Script
    from svc.model import Account

# The binding that tells a script which operation uploaded it; its pushes carry it back.
INSTALL_BINDING = "INSTALL"


def ownership_tag(account_id: str) -> str:
    """The tag on the script by which the service knows its own."""
    return f"svc-account:{account_id}"


async def is_as_uploaded(context: Context, access: Access, account: Account, script: Script) -> bool:
    """Whether `script` is as an upload of ours left it, also one whose answer was never recorded.

    Raises EdgeRefused, EdgeUnavailable.
    """
    if account.script_etag is None or script.etag == account.script_etag:
        return True
    begun = await context.store.read(operations.with_open_upload(account.id))
    return bool(begun) and (await workers.text_bindings(access, SCRIPT_NAME)).get(INSTALL_BINDING) in begun
