"""Checks of the installation: the script, its bindings, its cron trigger and its database."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from svc.actors import operations
from svc.actors.checks.findings import Finding
from svc.actors.operations.install import push_second
from svc.actors.sync.script import is_unknown, ownership_tag, upload_status
from svc.edge import d1, workers
from svc.errors import Conflict
from svc.store import operations as operation_rows
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Context
    from svc.actors.sync.script import UploadStatus
    from svc.edge.access import Access
    from svc.edge.workers import SeenBinding
    from svc.model import Account


async def script(context: Context, access: Access, account: Account) -> tuple[list[Finding], UploadStatus | None]:
    """Check the script.

    Return the findings and the script's upload status, which is None if the service's script is missing.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    existing = await workers.get_script(access, SCRIPT_NAME)
    if existing is None:
        return [Finding("script_deleted", "resource_drift")], None
    if ownership_tag(account.id) not in existing.tags:
        return [Finding("script_replaced", "name_taken")], None
    status = await upload_status(context, access, account, existing)
    if status == "changed":
        return [Finding("script_changed", "resource_drift")], status
    if status == "newer":
        return [unknown_upload(context, account)], status
    return [], status


def unknown_upload(context: Context, account: Account) -> Finding:
    """Return the finding for a Worker that the service uploaded, but whose upload is not recorded in the store."""
    return Finding("script_not_known", "resource_drift", repair=partial(_install, context, account))


async def _install(context: Context, account: Account) -> None:
    if await context.store.read(operation_rows.running(account.id)) is None:
        with suppress(Conflict):
            await operations.begin(context, "install", account.id, lambda begun: begun)


async def script_settings(context: Context, access: Access, account: Account, *, bindings: bool) -> list[Finding]:
    """Check the cron trigger, the workers.dev address and, if `bindings` is True, the script's bindings.

    Call this only if the script is the service's last upload.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    problems = []
    seen = await workers.bindings(access, SCRIPT_NAME) if bindings else {}
    install = seen.get("INSTALL")
    if install is not None and install.text != account.install_id and await is_unknown(context, install.text or ""):
        return [unknown_upload(context, account)]  # an unrecorded upload of the same code with a different key
    wrong = await _wrong_bindings(context, account, seen)
    if wrong:
        problems.append(Finding("bindings_differ", "resource_drift", {"bindings": ", ".join(wrong)}))
    crons = [context.bundle.cron]
    actual = await workers.schedules(access, SCRIPT_NAME)
    if actual != set(crons):
        repair = partial(workers.set_schedules, access, SCRIPT_NAME, crons)
        facts = {"cron": context.bundle.cron, "found": ", ".join(sorted(actual))}
        problems.append(Finding("cron_changed" if actual else "cron_deleted", "resource_drift", facts, repair))
    if await workers.is_on_workers_dev(access, SCRIPT_NAME):
        repair = partial(workers.disable_subdomain, access, SCRIPT_NAME)
        problems.append(Finding("workers_dev_on", "resource_drift", repair=repair))
    return problems


async def _wrong_bindings(context: Context, account: Account, seen: Mapping[str, SeenBinding]) -> list[str]:
    """Return the names of the bindings that differ from the last upload. The values of secrets cannot be compared.

    The value of PUSH_URL is not compared, because a Worker keeps the previous URL when the operator changes the
    setting.
    """
    if account.install_id is None or not seen:
        return []
    texts = {"BUNDLE": account.edge_bundle, "PUSH_SECOND": str(push_second(account.edge_account_id))}
    install = seen.get("INSTALL")
    open_uploads = await context.store.read(operation_rows.with_open_upload(account.id))
    if install is not None and install.text != account.install_id and install.text in open_uploads:
        return []  # the service made this upload, but its response was lost
    texts["INSTALL"] = account.install_id
    wrong = [name for name, text in texts.items() if name not in seen or seen[name].text != text]
    if "DB" not in seen or seen["DB"].database_id != account.database_id:
        wrong.append("DB")
    wrong += [name for name in ("PUSH_URL", "WORKER_KEY") if name not in seen]
    return sorted(wrong)


async def database(access: Access, account: Account) -> list[Finding]:
    """Check that the database exists.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    if account.database_id is not None and await d1.get(access, account.database_id) is not None:
        return []
    return [Finding("database_deleted", "resource_drift")]
