"""The rules of short links in requests and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from svc import model
from svc.api.fields import Country, HttpsUrl, Language, ParameterName, ParameterValue, without_duplicates
from svc.api.shape import Body, ResponseBody, optional_field
from svc.model import Device, OperatingSystem

if TYPE_CHECKING:
    from collections.abc import Sequence


class NewParameter(Body):
    """A parameter of the short URL's query string."""

    name: ParameterName = Field(description="The parameter's name, after decoding. Case matters.")
    value: ParameterValue | None = Field(
        None,
        description="The parameter's value, after decoding. Case matters. If this field is absent or null, any value"
        " matches.",
    )


class NewRule(Body):
    """The destination of some clicks. A rule applies if all of its conditions match.

    A condition that is absent or null matches all clicks. An empty list is rejected, because it would match no click.
    """

    url: HttpsUrl
    countries: (
        Annotated[
            tuple[Country, ...],
            Field(min_length=1, max_length=300, fail_fast=True),
            AfterValidator(without_duplicates),
        ]
        | None
    ) = Field(None, description="Up to 300 ISO 3166-1 alpha-2 codes.")
    devices: (
        Annotated[
            tuple[Device, ...],
            Field(min_length=1, max_length=2, fail_fast=True),
            AfterValidator(without_duplicates),
        ]
        | None
    ) = Field(None, description="Phones and tablets are `mobile`; everything else is `desktop`.")
    languages: (
        Annotated[
            tuple[Language, ...],
            Field(min_length=1, max_length=30, fail_fast=True),
            AfterValidator(without_duplicates),
        ]
        | None
    ) = Field(
        None,
        description="Up to 30 language tags, which are stored in lower case. `pt` also matches `pt-BR`. The rule"
        " applies to visitors who prefer one of these languages to all others.",
    )
    os: (
        Annotated[
            tuple[OperatingSystem, ...],
            Field(min_length=1, max_length=5, fail_fast=True),
            AfterValidator(without_duplicates),
        ]
        | None
    ) = Field(
        None,
        description="The operating system of the visitor's browser. Safari on an iPad usually identifies its"
        " system as `macOS`.",
    )
    query: NewParameter | None = Field(
        None, description="The rule applies to clicks whose short URL has this parameter in its query string."
    )

    def to_model(self) -> model.Rule:
        """Return the rule in the form that the service stores."""
        query = None if self.query is None else model.Parameter(self.query.name, self.query.value)
        return model.Rule(self.url, self.countries, self.devices, self.languages, self.os, query)


Rules = Annotated[tuple[NewRule, ...], Field(max_length=10, fail_fast=True)]


class Parameter(ResponseBody):
    """A parameter of the short URL. If `value` is absent, any value matches."""

    name: str
    value: str | None = optional_field()


class Rule(ResponseBody):
    """A link rule. A condition that is absent matches all clicks."""

    url: str
    countries: tuple[str, ...] | None = optional_field()
    devices: tuple[str, ...] | None = optional_field()
    languages: tuple[str, ...] | None = optional_field()
    os: tuple[str, ...] | None = optional_field()
    query: Parameter | None = optional_field()


def rules_of(rules: Sequence[NewRule]) -> tuple[model.Rule, ...]:
    """Return the rules of a request body in the form that the service stores."""
    return tuple(rule.to_model() for rule in rules)
