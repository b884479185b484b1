"""Tests of the table of metrics, and of the limits on labels."""

from __future__ import annotations

import logging
import re
from threading import Thread

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from svc import metrics as table
from svc.api.contract import ENDPOINTS
from svc.metrics import (
    MAX_CHILDREN,
    TABLE,
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    Metrics,
    counting_log_lines,
    watch_loop,
)
from tests.scraped import scrape

ALL = [metric for area in TABLE.values() for metric in area]
# Histograms that have no unit in their names, because they count things.
UNITLESS = ("svc_push_group_size", "svc_store_group_size")
# Labels that would contain personal data, or create a series per customer.
PERSONAL = (
    "user",
    "email",
    "account",
    "edge_account",
    "host",
    "path",
    "url",
    "code_of_link",
    "ip",
    "address",
    "key",
    "site",
)


def test_table_has_each_metric_once():
    defined = [value for value in vars(table).values() if isinstance(value, table.Metric)]
    assert sorted(metric.name for metric in defined) == sorted({metric.name for metric in ALL})
    assert len(defined) == len(ALL)


@pytest.mark.rule("X14")
@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_metric_names_follow_prometheus_conventions(metric):
    assert re.fullmatch(r"svc_[a-z][a-z_]*[a-z]", metric.name)
    assert metric.name.endswith("_total") == isinstance(metric, CounterMetric)
    if isinstance(metric, HistogramMetric):
        assert metric.name.endswith("_seconds") or metric.name in UNITLESS
        assert list(metric.buckets) == sorted(set(metric.buckets))
        assert 5 <= len(metric.buckets) <= 11
    assert len(metric.help) > 10
    assert metric.help.endswith(".")
    assert not set(metric.labels) & set(PERSONAL)


@pytest.mark.rule("X14")
def test_unknown_label_value_becomes_other_and_is_not_cached():
    metrics = Metrics()
    for number in range(50):
        metrics.observe(table.REQUEST_SECONDS, 0.1, f"ODD{number}", "/v1/me", "2xx")
    found = scrape(metrics)
    assert found.counts("svc_http_request_seconds_count", "method", "route", "status") == {
        ("other", "/v1/me", "2xx"): 50
    }
    assert len(metrics._children) < 40


@pytest.mark.rule("X14")
def test_number_of_series_is_limited_and_keeps_labels_with_fixed_values():
    metrics = Metrics()
    for number in range(MAX_CHILDREN + 100):
        metrics.count(table.REQUEST_ERRORS, f"/v1/{number}", "not_found")
    metrics.count(table.REQUEST_ERRORS, "/v1/me", "internal")
    found = scrape(metrics).counts("svc_http_errors_total", "route", "code")
    assert len(found) == MAX_CHILDREN + 2
    assert (found["other", "not_found"], found["other", "internal"]) == (100, 1)


def test_limit_is_sufficient_for_all_endpoints():
    paths = {endpoint.path for endpoint in ENDPOINTS}
    allowed = len(ENDPOINTS) * len(table.STATUSES)
    rejected_methods = len(paths) * len(table.METHODS)
    assert allowed + rejected_methods < MAX_CHILDREN


def test_counters_with_fixed_labels_start_at_zero():
    found = scrape(Metrics())
    assert {labels["outcome"]: value for labels, value in found.series("svc_push_parts_total")} == {
        "accepted": 0, "invalid": 0, "too_old": 0, "early": 0,
    }  # fmt: skip
    assert found.series("svc_sync_failures_total") == [({}, 0)]


def test_gauges_without_a_value_are_omitted():
    metrics = Metrics()
    gauges = {metric.name for metric in ALL if isinstance(metric, GaugeMetric)}
    assert gauges.isdisjoint(scrape(metrics).families)
    metrics.set(table.ACCOUNTS, 3, "ready")
    assert scrape(metrics).series("svc_accounts") == [({"state": "ready"}, 3)]
    metrics.forget(table.ACCOUNTS)
    assert "svc_accounts" not in scrape(metrics).families
    metrics.set(table.ACCOUNTS, 4, "ready")
    assert scrape(metrics).series("svc_accounts") == [({"state": "ready"}, 4)]


def test_metrics_of_two_services_are_independent():
    first, second = Metrics(), Metrics()
    first.count(table.ACTOR_CRASHES)
    assert (scrape(first).total("svc_actor_crashes_total"), scrape(second).total("svc_actor_crashes_total")) == (1, 0)


def test_concurrent_reports_from_threads_are_all_counted():
    metrics = Metrics()

    def report() -> None:
        for number in range(2_000):
            metrics.observe(table.STORE_WAIT, number / 1000, "read" if number % 2 else "write")

    threads = [Thread(target=report) for _ in range(4)]
    for thread in threads:
        thread.start()
    texts = [metrics.text() for _ in range(5)]
    for thread in threads:
        thread.join()
    assert scrape(metrics).counts("svc_store_wait_seconds_count", "access") == {("read",): 4_000, ("write",): 4_000}
    for text in texts:
        assert list(text_string_to_metric_families(text.decode()))


def test_log_lines_are_counted_while_the_service_runs():
    metrics = Metrics()
    log = logging.getLogger("svc.test")
    with counting_log_lines(metrics):
        log.warning("a warning")
        log.warning("another, of a secret: hunter2")
        log.info("nothing to see")
    log.warning("after the end")
    found = scrape(metrics)
    assert found.counts("svc_log_lines_total", "level") == {("warning",): 2}
    assert "hunter2" not in found.text


async def test_event_loop_lag_is_measured(autojump_clock):
    metrics = Metrics()
    with trio.move_on_after(1.05):
        await watch_loop(metrics)
    found = scrape(metrics)
    assert found.total("svc_loop_lag_seconds_count") == 10
    assert found.total("svc_loop_lag_seconds_bucket", le="0.001") == 10
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_loop, metrics)
        await trio.testing.wait_all_tasks_blocked()
        autojump_clock.jump(3.1)  # simulate a task that blocks the event loop for this time
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    late = scrape(metrics)
    assert late.total("svc_loop_lag_seconds_count") == 11
    assert late.total("svc_loop_lag_seconds_bucket", le="1.0") == 10
    assert late.total("svc_loop_lag_seconds_bucket", le="5.0") == 11
