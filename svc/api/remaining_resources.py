"""The resources that remain at Cloudflare after accounts have been disconnected, as responses show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from svc.api.shape import ResponseBody
from svc.remaining_resource import LeftKind, LeftWhy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc import remaining_resource


class RemainingResource(ResponseBody):
    """A resource that the service could not remove from Cloudflare. The `left` field describes it in a sentence."""

    kind: LeftKind = Field(
        description="The kind of resource. `uncounted_database` is the Worker's database, which the service did not"
        " delete because it could not read the last counts; `why` gives the reason."
    )
    why: LeftWhy = Field(
        description="The reason why the resource still exists. If it is `refused`, `facts.said` is Cloudflare's"
        " message."
    )
    facts: dict[str, str] = Field(
        description="Details such as `route`. `kind` and `why` determine which details are present."
    )

    @classmethod
    def each(cls, left: Sequence[remaining_resource.RemainingResource]) -> tuple[RemainingResource, ...]:
        """Return the response objects for the resources that remain at Cloudflare, in the same order."""
        return tuple(cls(kind=resource.kind, why=resource.why, facts=dict(resource.facts)) for resource in left)
