"""The result of checking one part of the setup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True)
class Finding:
    """The result of checking one part. `warn`: True if the service works, but the operator should know about a risk."""

    part: str
    verdict: Verdict
    text: str
