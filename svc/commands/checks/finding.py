"""The result of checking one part of the setup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True)
class Finding:
    """The result of checking one part. The verdict `warn` means that the service works, but that there is a risk."""

    part: str
    verdict: Verdict
    text: str
