"""The options of short links in requests and responses: the period, the query of the short URL, and the split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from svc import model
from svc.api.fields import HttpsUrl, Wrong
from svc.api.shape import Body, ResponseBody

if TYPE_CHECKING:
    from collections.abc import Sequence

FORWARD_QUERY = (
    "Whether the Worker adds the parameters of the short URL to the target. The parameters `q` and `ref` are not added,"
    " nor are parameters that the target already has."
)
STARTS_AT = "The time from which clicks go to the targets, in RFC 3339 format."
ENDS_AT = "The time from which clicks no longer go to the targets, in RFC 3339 format. It must be after `starts_at`."
AFTER_URL = (
    "The URL to which the Worker redirects clicks before `starts_at`, and clicks from `ends_at` on. Without this URL,"
    " visitors get the same response as for an unknown code. The URL cannot be on the link host."
)
SPLIT = (
    "2 to 10 variants whose shares add up to 100. They replace `url` as the target of clicks that match no rule. A"
    " visitor gets the same variant all day (UTC)."
)
_MIN_VARIANTS = 2
_WHOLE = 100


class NewVariant(Body):
    """One of the targets of a split link."""

    url: HttpsUrl
    share: Annotated[int, Field(ge=1, le=99)] = Field(description="The percentage of visitors who get this variant.")


def _split(variants: tuple[NewVariant, ...]) -> tuple[NewVariant, ...]:
    if len(variants) == 1:
        raise Wrong(f"must have at least {_MIN_VARIANTS} items", "too_few", _MIN_VARIANTS)
    if variants and sum(variant.share for variant in variants) != _WHOLE:
        raise Wrong("must have shares that add up to 100", "other")
    return variants


Split = Annotated[tuple[NewVariant, ...], Field(max_length=10, fail_fast=True), AfterValidator(_split)]


class Variant(ResponseBody):
    """One of the targets of a split link."""

    url: str
    share: Annotated[int, Field(ge=1, le=99)] = Field(description="The percentage of visitors who get this variant.")


def split_of(variants: Sequence[NewVariant]) -> tuple[model.Variant, ...]:
    """Return the variants of a request body in the form that the service stores."""
    return tuple(model.Variant(variant.url, variant.share) for variant in variants)
