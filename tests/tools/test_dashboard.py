"""The dashboard and the page about metrics match the table of metrics, and name only existing metrics."""

from __future__ import annotations

import json
import re

import pytest

from svc.metrics import TABLE, HistogramMetric, Metrics
from tests.scraped import scrape
from tools.dashboard import DASHBOARD, PAGE, ROWS, dashboard_text, page

BY_NAME = {metric.name: metric for area in TABLE.values() for metric in area}
# The metric of each series, by the name of the series. A histogram has several series, whose names have these suffixes.
SERIES = {
    **BY_NAME,
    **{
        f"{name}_{suffix}": metric
        for name, metric in BY_NAME.items()
        if isinstance(metric, HistogramMetric)
        for suffix in ("bucket", "count", "sum")
    },
}
# Labels that Prometheus adds to every series.
EVERYWHERE = {"instance", "job"}


def expressions() -> list[tuple[str, str]]:
    """Return all expressions in the dashboard's file, each with its legend."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [(target["expr"], target["legendFormat"]) for panel in panels for target in panel.get("targets", [])]


def test_dashboard_and_page_match_the_table():
    assert DASHBOARD.read_text() == dashboard_text(), "run: python -m tools.dashboard"
    assert PAGE.read_text() == page(PAGE.read_text()), "run: python -m tools.dashboard"


@pytest.mark.rule("X14")
def test_panel_uses_only_existing_metrics_and_labels():
    library = {sample.name for family in scrape(Metrics()).families.values() for sample in family.samples} - set(SERIES)
    for expression, legend in expressions():
        names = re.findall(r"\b[a-z]+_\w+(?=\{)", expression)
        assert names, expression
        assert set(names) <= set(SERIES) | library, expression
        assert expression.count("$instance") == len(names), expression
        labels = set(re.findall(r"(\w+)=~?\"", expression))
        labels |= {label for found in re.findall(r"by \(([^)]*)\)", expression) for label in found.split(", ")}
        shown = set(re.findall(r"{{(\w+)}}", legend))
        for name in set(names) & set(SERIES):
            metric = SERIES[name]
            known = set(metric.labels) | EVERYWHERE | ({"le"} if isinstance(metric, HistogramMetric) else set())
            assert labels | shown <= known, (expression, legend)
            for label, value in re.findall(r"(\w+)=\"(\w+)\"", expression):
                assert value in metric.labels[label]
        if "by (" in expression:
            assert shown <= labels, (expression, legend)


@pytest.mark.rule("X14")
def test_every_metric_has_a_panel_and_a_line_in_the_documentation():
    text = " ".join(expression for expression, _ in expressions())
    named = {SERIES[name].name for name in re.findall(r"\bsvc_\w+", text)}
    assert named == set(BY_NAME)
    lines = PAGE.read_text().splitlines()
    for metric in BY_NAME.values():
        assert len([line for line in lines if f"| `{metric.name}` |" in line and metric.help in line]) == 1
    for name in re.findall(r"`(svc_[a-z_]+)[`{ ]", PAGE.read_text()):
        assert name in SERIES, name


def test_the_panels_of_a_row_do_not_overlap():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [panel["gridPos"] for panel in panels]
    cells = [(at["x"] + x, at["y"] + y) for at in places for x in range(at["w"]) for y in range(at["h"])]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels) == sum(1 + len(inside) for inside in ROWS.values())
