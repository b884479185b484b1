"""Records each resource of a field check in a file before creating it, so that a later run can always remove it.

The file contains no secrets. Because the values of tokens exist only in memory, a later run has to create another token
to remove the resources.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from svc import atomic_file
from svc.clock import DAY_MS
from svc.edge import d1, routes, tokens, workers
from svc.errors import EdgeRefused

if TYPE_CHECKING:
    from pathlib import Path

    from svc.clock import Clock
    from svc.edge.access import Access
    from svc.edge.client import Edge

# Time during which Cloudflare may refuse a new token, because the token has not reached all of Cloudflare's locations.
SETTLING_S = 60.0


@dataclass(frozen=True)
class Trace:
    """The name of a run, and the resources that it may have created. The names of all resources contain the run's name.

    `installs`: a database and a Worker may exist. `zone_id`: routes may exist in this zone.
    """

    name: str
    installs: bool = False
    zone_id: str | None = None


class TraceFile:
    """The trace file of a Cloudflare account, in the folder of the service's key file."""

    def __init__(self, folder: Path, edge_account_id: str) -> None:
        self.path = folder / f"field-check-{edge_account_id}.json"

    def read(self) -> Trace | None:
        """Return the trace of an earlier run, or None if there is none. Raises OSError or ValueError."""
        try:
            return Trace(**json.loads(self.path.read_text()))
        except FileNotFoundError:
            return None

    def write(self, trace: Trace) -> None:
        """Write the trace to disk and sync the file. Call this before creating the resources. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.put(self.path, json.dumps(asdict(trace)).encode(), owner=self.path.parent.stat())

    def forget(self) -> None:
        """Delete the file. Call this when all resources have been removed."""
        self.path.unlink(missing_ok=True)


def token_name(trace: Trace, purpose: str) -> str:
    """Return the name of the run's token for this purpose."""
    return f"{trace.name}-{purpose}"


async def remove(
    edge: Edge, bootstrap: Access, file: TraceFile, trace: Trace, clock: Clock, working: Access | None
) -> None:
    """Remove all resources of a trace, tokens last. Then delete the trace file.

    `working`: access with the run's working token. If it is None, the function creates another token. The trace file is
    kept if the function raises ServiceError.
    """
    if trace.installs:
        access = working or await _access_again(edge, bootstrap, trace, clock)
        if trace.zone_id is not None:
            for route in await routes.list_routes(access, trace.zone_id):
                if route.script == trace.name:
                    await routes.delete(access, trace.zone_id, route.id)
        await workers.delete_script(access, trace.name)
        database = await d1.find(access, trace.name)
        if database is not None:
            await d1.delete(access, database.id)
    for token in await tokens.list_all(bootstrap):
        if token.name.startswith(f"{trace.name}-"):
            await tokens.delete(bootstrap, token.id)
    file.forget()


async def _access_again(edge: Edge, bootstrap: Access, trace: Trace, clock: Clock) -> Access:
    """Return access with a new token that can remove the resources.

    If no token can be created, return access with the bootstrap token.
    """
    policies = tokens.policies_for(bootstrap.edge_account_id, await tokens.permission_groups(bootstrap))
    try:
        made = await tokens.create(bootstrap, token_name(trace, "removal"), policies, clock() + DAY_MS)
    except EdgeRefused:
        return bootstrap
    return edge.access(bootstrap.edge_account_id, made.value.get_secret_value()).settling(SETTLING_S)


def with_install(trace: Trace, zone_id: str | None) -> Trace:
    """Return the trace of a run that is about to install the Worker."""
    return replace(trace, installs=True, zone_id=zone_id)
