"""What commands take."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

# Where a command adds its own parser; argparse names the type only so.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def edge_account_id(text: str) -> str:
    """An edge account's id, as the platform writes it. Raises argparse.ArgumentTypeError."""
    if re.fullmatch(r"[0-9a-f]{32}", text) is None:
        raise argparse.ArgumentTypeError("an account's id has 32 hexadecimal digits")
    return text


def suggested(config: Path | None) -> str:
    """The option that another command needs to find the same configuration: " --config PATH", or nothing."""
    return "" if config is None else f" --config {shlex.quote(str(config))}"
