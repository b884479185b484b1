"""The `disabled` field of sites and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from svc.api.fields import Moment
from svc.api.shape import ResponseBody

if TYPE_CHECKING:
    from svc import model


class Disabled(ResponseBody):
    """When and why the operator disabled a site or a link. Only the operator can enable it again."""

    at: Moment
    reason: str = Field(description="The operator's reason.")

    @classmethod
    def from_model(cls, disabled: model.Disabled | None) -> Disabled | None:
        """Return the response object, or None if the site or link is not disabled."""
        return None if disabled is None else cls(at=disabled.at, reason=disabled.reason)
