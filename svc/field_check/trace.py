"""What a field check may have made at the platform, on the disk before it is made; and how it is removed.

The file holds no secret: a token's value is known to the process alone, so whoever removes what a killed one left makes
a token for it, under the same name.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from svc.clock import DAY_MS
from svc.edge import d1, routes, tokens, workers
from svc.errors import EdgeRefused

if TYPE_CHECKING:
    from pathlib import Path

    from svc.clock import Clock
    from svc.edge.access import Access
    from svc.edge.client import Edge

# A new token is refused until the platform knows it everywhere.
SETTLING_S = 60.0


@dataclass(frozen=True)
class Trace:
    """One run's name, which everything that it makes has, and where it may have made more than tokens.

    `installs`: a database and a worker may be there. `zone_id`: a route may be there, too.
    """

    name: str
    installs: bool = False
    zone_id: str | None = None


class TraceFile:
    """The trace of the run on one edge account, beside the service's key file."""

    def __init__(self, folder: Path, edge_account_id: str) -> None:
        self.path = folder / f"field-check-{edge_account_id}.json"

    def read(self) -> Trace | None:
        """The trace that an earlier run left; None: there is none. Raises OSError, ValueError."""
        try:
            return Trace(**json.loads(self.path.read_text()))
        except FileNotFoundError:
            return None

    def write(self, trace: Trace) -> None:
        """Keep it before what it tells of is made: it is on the disk when this returns. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump(asdict(trace), file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)

    def forget(self) -> None:
        """All of it is removed."""
        self.path.unlink(missing_ok=True)


def token_name(trace: Trace, purpose: str) -> str:
    """The name of one of the run's tokens."""
    return f"{trace.name}-{purpose}"


async def remove(
    edge: Edge, bootstrap: Access, file: TraceFile, trace: Trace, clock: Clock, working: Access | None
) -> None:
    """Remove all that the trace tells of, tokens last, and then the trace itself.

    `working`: the run's own token; None: one is made for it. Raises ServiceError; the trace is kept.
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
    """A token that may remove what the run made; the bootstrap token itself where it may make none."""
    policies = tokens.policies_for(bootstrap.edge_account_id, await tokens.permission_groups(bootstrap))
    try:
        made = await tokens.create(bootstrap, token_name(trace, "removal"), policies, clock() + DAY_MS)
    except EdgeRefused:
        return bootstrap
    return edge.access(bootstrap.edge_account_id, made.value.get_secret_value()).settling(SETTLING_S)


def with_install(trace: Trace, zone_id: str | None) -> Trace:
    """The trace of a run that is about to install."""
    return replace(trace, installs=True, zone_id=zone_id)
