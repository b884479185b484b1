"""`make bench`: every row in one run; the two sides of a ratio are measured in turn, so that noise hurts both."""

from __future__ import annotations

import trio

from bench import http, lists, plan, service, worker


async def main() -> None:
    """Run everything and print a line for each figure."""
    print(f"{'what':64} {'measured':>14}  to reach")
    for measure in (*worker.MEASURES, *plan.MEASURES, *http.MEASURES, *service.MEASURES, *lists.MEASURES):
        async for row in measure():
            print(f"{row.what:64} {row.measured:>14}  {row.to_reach}", flush=True)


if __name__ == "__main__":
    trio.run(main)
