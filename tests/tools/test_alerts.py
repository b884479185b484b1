"""Alerts use only existing metrics, and each alert says what to do."""

from __future__ import annotations

import re

import pytest

from svc.metrics import GaugeMetric, HistogramMetric, Metrics
from tests.scraped import scrape
from tests.tools.test_dashboard import SERIES
from tools.alerts import ALERTS, rules_text
from tools.dashboard import RULES

# Metrics that Prometheus itself records for each target.
OF_THE_SCRAPER = {"up"}
WORDS = {"sum", "by", "rate", "increase", "histogram_quantile", "and", "on", "offset", "instance", "le"}


def test_rules_match_the_table():
    assert RULES.read_text() == rules_text(), "run: python -m tools.dashboard"


@pytest.mark.rule("X14")
@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_alert_uses_existing_metrics_in_a_suitable_way(alert):
    library = {sample.name for family in scrape(Metrics()).families.values() for sample in family.samples} - set(SERIES)
    selected = re.sub(r"\{[^}]*\}|\[[^]]*\]|\d+[a-z]\b", "", alert.expression)
    names = set(re.findall(r"[a-z_]+", selected)) - WORDS
    assert names
    assert names <= set(SERIES) | library | OF_THE_SCRAPER
    for name, inside in re.findall(r"(\w+)\{([^}]*)\}", alert.expression):
        if name in OF_THE_SCRAPER:
            continue
        for label, values in re.findall(r"(\w+)=~?\"([^\"]*)\"", inside):
            known = SERIES[name].labels[label]
            assert not known or set(values.split("|")) <= set(known)
    # `rate` and `increase` need a metric that only grows
    for name in re.findall(r"(?:rate|increase)\((\w+)", alert.expression):
        assert not isinstance(SERIES[name], GaugeMetric)
    for name in re.findall(r"histogram_quantile\([\d.]+, sum by \(instance, le\) \(rate\((\w+)", alert.expression):
        metric = SERIES[name]
        assert isinstance(metric, HistogramMetric)
        limit = float(alert.expression.rpartition("> ")[2])
        assert limit in metric.buckets  # if the limit is not a bucket, Prometheus interpolates between two bounds


@pytest.mark.rule("X14")
def test_each_alert_has_a_unique_name_a_meaning_and_a_remedy():
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    for alert in ALERTS:
        assert re.fullmatch(r"Svc([A-Z][a-z]+)+", alert.name)
        assert re.fullmatch(r"\d+[mh]", alert.wait)
        assert all(text[0].isascii() and text.endswith((".", ")")) for text in (alert.means, alert.do))
