"""Steps of docs/operate/monitoring.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step


async def checked(place: Place, block: Block) -> None:
    """Check that the output has a line for each part that `svc check` checks."""
    place.settings |= {"SVC_HTTP_BASE_URL": "https://svc.example.com"}
    lines = (await place.run(block)).splitlines()
    assert all(line.startswith("ok   ") for line in lines), lines
    for part in ("configuration", "key file", "store", "workers", "emails", "address"):
        assert any(line.startswith(f"ok   {part}:") for line in lines), part


STEPS: dict[str, Step | NotHere] = {"svc check": checked}
