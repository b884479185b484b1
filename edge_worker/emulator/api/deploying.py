"""Deployment: starts the uploaded version, and records the deployment only if the version starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_worker.emulator.api.wire import ApiError, invalid
from edge_worker.emulator.platform import platform
from edge_worker.emulator.runtime.capnp import Running
from edge_worker.emulator.runtime.runtime import StartFailed
from edge_worker.emulator.state import Account, Deployment, Script, Version, new_uuid

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT_VERSIONS = 20


def _refusal(error: StartFailed, running: Running) -> ApiError:
    """Return the platform's validation error for workerd's output, without names that exist only in the emulator."""
    text = str(error).replace(f"service {running.service}: ", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith('Worker "front"')]
    return invalid("\n".join(lines[:8]) or "the script did not start", 10021)


def add_version(script: Script, version: Version) -> None:
    """Store the version. Only the versions of the last two deployments and the newest 20 others are kept."""
    script.versions.append(version)
    deployed = {deployment.version_id for deployment in script.deployments[:2]}
    spare = [v for v in script.versions if v.id not in deployed][:-KEPT_VERSIONS]
    script.versions = [v for v in script.versions if v not in spare]


async def deploy(
    account: Account,
    script: Script,
    version: Version,
    annotations: dict[str, str] | None = None,
    also: Callable[[], None] | None = None,
) -> Deployment:
    """Deploy the version. `also` makes other changes to the script in the same step.

    Raises ApiError 10021 if the version does not start. In that case, nothing changes.
    """
    now = platform().now()
    deployment = Deployment(
        id=new_uuid(),
        created_at=now,
        version_id=version.id,
        source=version.source,
        annotations=annotations or {},
    )

    def commit(handlers: list[str]) -> None:
        version.handlers = handlers
        if script.version(version.id) is None:
            add_version(script, version)
        script.deployments.insert(0, deployment)
        script.modified_at = now
        account.scripts[script.name] = script
        platform().uploads.append((account.id, script.name, version.id))
        if also is not None:
            also()

    running = Running(account, script, version)
    try:
        await platform().runtime.run_scripts(instead=running, commit=commit)
    except StartFailed as error:
        raise _refusal(error, running) from None
    return deployment


async def remove(account: Account, script: Script) -> None:
    """Remove the script and its schedules. Its routes and databases remain."""

    def commit(_handlers: list[str]) -> None:
        del account.scripts[script.name]

    await platform().runtime.run_scripts(without=(account.id, script.name), commit=commit)
