"""`make bench`: run the benchmarks.

To compare two programs, a benchmark measures them in turn, so that other work on the machine affects both.

`python -m bench http lists` (or `make bench PARTS="http lists"`) runs only these parts. Some parts run only if they
are named: `year` takes an hour, `scale` (a hundred thousand accounts) and `outage` take minutes, and `start` needs
binaries.
"""

from __future__ import annotations

import sys

import trio

from bench import accounts, alerts, http, links, lists, outage, plan, scale, service, shares, start, web, worker, year

PARTS = {
    "worker": worker.MEASURES,
    "plan": plan.MEASURES,
    "http": http.MEASURES,
    "service": service.MEASURES,
    "start": start.MEASURES,
    "lists": lists.MEASURES,
    "links": links.MEASURES,
    "accounts": accounts.MEASURES,
    "alerts": alerts.MEASURES,
    "outage": outage.MEASURES,
    "scale": scale.MEASURES,
    "shares": shares.MEASURES,
    "web": web.MEASURES,
    "year": year.MEASURES,
}
_NAMED_ONLY = {"outage", "scale", "start", "year"}


async def main(names: list[str]) -> None:
    """Run the named parts, or the default parts if none are named. Print a line for each figure."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"unknown part: {', '.join(unknown)}. Parts: {', '.join(PARTS)}")
    print(f"{'what':64} {'measured':>14}  target")
    for name in names or [each for each in PARTS if each not in _NAMED_ONLY]:
        for measure in PARTS[name]:
            async for row in measure():
                print(f"{row.what:64} {row.measured:>14}  {row.to_reach}", flush=True)


if __name__ == "__main__":
    trio.run(main, sys.argv[1:])
