"""Finds the rule of a link that applies to a click, as edge_worker/src/link_rules.js does. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svc.worker.link_query import parameters_of
from svc.worker.patterns import compiled, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.model import Parameter, Rule


@dataclass(frozen=True)
class Visitor:
    """The properties of a click that rules can depend on.

    `device`, `os`: as in the breakdowns. `search`: the query string, which begins with "?", or "". `accept_language`:
    the header, or "".
    """

    country: str
    device: str
    os: str
    search: str
    accept_language: str


class RuleMatcher:
    """Evaluates rules with the patterns from the Worker's bundle. Raises ValueError or KeyError on invalid patterns."""

    def __init__(self, patterns: Mapping[str, Any]) -> None:
        self._language_chars: int = patterns["language_chars"]
        self._language_range = compiled(*patterns["language_range"])

    def match(self, rules: Sequence[Rule], visitor: Visitor) -> int | None:
        """Return the index of the first rule whose conditions all match, or None."""
        device = "mobile" if visitor.device in ("mobile", "tablet") else "desktop"
        language = self._preferred_language(visitor.accept_language)
        for place, rule in enumerate(rules):
            if (
                (rule.countries is None or visitor.country in rule.countries)
                and (rule.devices is None or device in rule.devices)
                and (rule.os is None or visitor.os in rule.os)
                and (rule.query is None or _has_parameter(visitor.search, rule.query))
                and (rule.languages is None or any(_is_language(each, language) for each in rule.languages))
            ):
                return place
        return None

    def _preferred_language(self, header: str) -> str:
        """Return the language range to which the visitor gave the highest weight, or "" if there is none."""
        return next(iter(self._language_ranges(header)), "")

    def _language_ranges(self, header: str) -> list[str]:
        """Return the ranges that the visitor accepts, in lower case and by descending weight."""
        units = units_of(header)
        texts = units[: self._language_chars].split(",")
        if len(units) > self._language_chars:
            texts.pop()  # the last range may be incomplete
        matches = [match for match in map(self._language_range.search, texts) if match is not None]
        weighed = [(float(match[2] or 1), match[1].lower()) for match in matches]
        weighed.sort(key=lambda each: -each[0])
        return [accepted for weight, accepted in weighed if weight > 0]


def _is_language(language: str, accepted: str) -> bool:
    return accepted == language or accepted.startswith(f"{language}-")


def _has_parameter(search: str, wanted: Parameter) -> bool:
    sent = parameters_of(search.removeprefix("?"))
    return any(name == wanted.name and wanted.value in (None, value) for _, name, value in sent)
