"""Metrics, parsed with the parser of the Prometheus library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from tests.secrecy import SEARCH

if TYPE_CHECKING:
    from svc.metrics import Metrics

Labels = dict[str, str]


class Scraped:
    """The samples in the response to a scrape."""

    def __init__(self, text: bytes) -> None:
        SEARCH.text("the metrics", text)
        self.text = text.decode()
        self.families = {family.name: family for family in text_string_to_metric_families(self.text)}
        self._samples: dict[str, list[tuple[Labels, float]]] = {}
        for family in self.families.values():
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((dict(sample.labels), sample.value))

    def series(self, name: str) -> list[tuple[Labels, float]]:
        """Return the samples with this name, e.g. `svc_operation_seconds_count`."""
        return self._samples.get(name, [])

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of all samples with these labels, or 0 if there are none."""
        return sum(value for found, value in self.series(name) if labels.items() <= found.items())

    def counts(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """Return the non-zero sums of all samples, by the values of these labels."""
        found: dict[tuple[str, ...], float] = {}
        for values, value in self.series(name):
            key = tuple(values[label] for label in labels)
            found[key] = found.get(key, 0) + value
        return {key: value for key, value in found.items() if value}


def scrape(metrics: Metrics) -> Scraped:
    """Return the current metrics, except those that are read from the store."""
    metrics.read_sources()
    return Scraped(metrics.text())
