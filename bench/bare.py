"""A minimal endpoint with the same libraries as the service.

`python -m bench.bare` prints its URL, and serves the endpoint until killed.
"""

from __future__ import annotations

from typing import Any, cast

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from quart_trio import QuartTrio

app = QuartTrio("bare")


@app.get("/")
async def bare() -> dict[str, bool]:
    """Return a minimal JSON response."""
    return {"ok": True}


async def main() -> None:
    """Run hypercorn's server, without its limit of 1,000 requests per connection."""
    config = Config()
    config.keep_alive_max_requests = 10**9
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(lambda task_status: serve(cast("Any", app), config, task_status=task_status))
        print(url, flush=True)


if __name__ == "__main__":
    trio.run(main)
