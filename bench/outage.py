"""Measures how long visitors wait while the Worker's database is slow, silent or failing, in the real runtime.

The benchmark sends 20,000 requests. In 1 of 25 requests, the client disconnects early. In the output, a target
(site or link) is "known" if the isolate (a running instance of the Worker) has already responded to a request for it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from bench.figures import Row
from bench.runtime import BUNDLE
from edge_worker.harness.installed import HOUR_MS, open_installed_worker
from edge_worker.harness.storm import HEALTHY, Response, run_storm, views_counted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

REQUESTS = 20_000
SEED = 20261123
_EXPECTED = {302, 204, 503}


async def outage() -> AsyncIterator[Row]:
    """Measure errors, waiting times and counts in one run."""
    async with open_installed_worker(BUNDLE) as worker:
        storm = await run_storm(worker, REQUESTS, random.Random(SEED))
        counted = await views_counted(worker, await worker.clock(12 * HOUR_MS / 1000))
    healthy = [response for response in storm.responses if response.known and response.phase == HEALTHY.name]
    known = [response for response in storm.responses if response.known and response.phase != HEALTHY.name]
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(storm.statuses.items()))
    errors = sum(response.status not in _EXPECTED for response in storm.responses)
    refused = sum(response.status == 503 for response in known)
    wrong = sum(
        not views <= counted[target] <= views + storm.disconnected[target] for target, views in storm.counted.items()
    )
    yield Row(f"outage: responses ({statuses}), of which errors", str(errors), "0")
    yield Row("outage: rejections for known targets", str(refused), "0")
    first = _slowest(response for response in known if response.first)
    afterwards = _slowest(response for response in known if not response.first)
    yield Row("outage: slowest response for a known target, first wait", first, "2.2 s")
    yield Row("outage: slowest response for a known target, afterwards", afterwards, "0.1 s")
    # The database works in this phase, so this row shows the delays that the benchmark's machine causes.
    yield Row("  the same while the database is healthy", _slowest(healthy), "")
    yield Row(f"outage: targets with a wrong count, of {len(storm.counted)}", str(wrong), "0")


def _slowest(responses: Iterable[Response]) -> str:
    return f"{max(response.took_s for response in responses):.3f} s"


MEASURES = (outage,)
