"""Sites and links that the operator has disabled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import iso

if TYPE_CHECKING:
    from svc.model.events import JsonObject

# The maximum length of the reason that the operator gives for disabling a site or link. The owner sees the reason.
MAX_REASON_CHARS = 500


@dataclass(frozen=True)
class Disabled:
    """When and why the operator disabled a site or a link. The owner sees the reason."""

    at: int
    reason: str

    @property
    def details(self) -> JsonObject:
        """The details of the error for a rejected change of the site or link."""
        return {"disabled": {"at": iso(self.at), "reason": self.reason}}
