"""Tests of the rows in the Worker's table `config` for sites, links and the link host."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.model import EndedPath, Link, LinkHost, Parameter, Retiring, Rule, Site, SiteChange, Variant, WorkerSettings
from svc.worker.bundle import load_bundle
from svc.worker.config_rows import raise_version, rows_of, write_statements


def link(code: str, version: int, state: str = "active", link_id: str = "lnk_a", rules: tuple[Rule, ...] = ()) -> Link:
    return Link(link_id, "acc_a", 1, code, "https://a.example/x", rules, state, version, 0)  # type: ignore[arg-type]


def site(
    version: int, state: str = "active", retiring: tuple[Retiring, ...] = (), *, respect_gpc: bool = False
) -> Site:
    return Site(
        "site_a",
        "acc_a",
        1,
        "shop.example",
        "zone",
        state,  # type: ignore[arg-type]
        "/ab/cd",
        "k3",
        "code",
        ("/admin",),
        respect_gpc,
        None,
        retiring,
        None,
        version,
        0,
    )


HOST = LinkHost("go.example", "zone", "active", "r", None, 1)
DEFAULT = WorkerSettings()


def test_rules_are_written_without_absent_conditions():
    rules = (Rule("https://de.example", countries=("DE", "AT")), Rule("https://m.example", devices=("mobile",)))
    [(key, version, body)] = rows_of([], [link("abc", 3, rules=rules)], None, DEFAULT, 0)
    assert (key, version) == ("link:abc", 3)
    assert json.loads(body or "") == {
        "target": "lnk_a",
        "url": "https://a.example/x",
        "rules": [
            {"countries": ["DE", "AT"], "url": "https://de.example"},
            {"devices": ["mobile"], "url": "https://m.example"},
        ],
    }


def test_older_worker_skips_rules_with_conditions_that_it_does_not_know():
    rules = (
        Rule("https://de.example", countries=("DE",), languages=("de",), query=Parameter("a")),
        Rule("https://ios.example", os=("iOS",)),
        Rule("https://m.example", devices=("mobile",)),
    )
    [(_, _, body)] = rows_of([], [link("abc", 3, rules=rules)], None, DEFAULT, 0)
    written = json.loads(body or "")["rules"]
    assert written == [
        {
            "url": "https://de.example",
            "countries": [],
            "when": {"countries": ["DE"], "languages": ["de"], "query": {"name": "a"}},
        },
        {"url": "https://ios.example", "countries": [], "when": {"os": ["iOS"]}},
        {"url": "https://m.example", "devices": ["mobile"]},
    ]


def test_options_are_written_only_if_they_are_used():
    plain = link("abc", 3)
    [(_, _, before)] = rows_of([], [plain], None, DEFAULT, 0)
    assert before == '{"target":"lnk_a","url":"https://a.example/x"}'
    assert plain.format == 1
    url = "https://a.example/over"
    split = (Variant("https://a.example/1", 30), Variant("https://a.example/2", 70))
    for options, expected in (
        ({"forward_query": True}, {"forward_query": True}),
        ({"starts_at": 5}, {"starts_at": 5}),
        ({"ends_at": 6, "after_url": url}, {"ends_at": 6, "after_url": url}),
        ({"split": split}, {"split": [{"url": variant.url, "share": variant.share} for variant in split]}),
    ):
        changed = replace(plain, **options)
        [(_, _, body)] = rows_of([], [changed], None, DEFAULT, 0)
        assert json.loads(body or "") == {"target": "lnk_a", "url": "https://a.example/x", **expected}
        assert changed.format == 2
    # A link without a period never sends clicks to this URL, so the row does not contain it.
    [(_, _, body)] = rows_of([], [replace(plain, after_url=url)], None, DEFAULT, 0)
    assert body == before


def test_reused_code_belongs_to_the_new_link():
    rows = rows_of([], [link("abc", 5, link_id="lnk_new"), link("abc", 4, "deleted")], None, DEFAULT, 0)
    # The row that removes the code comes first, so that the code stays removed if the Worker's database rejects the new
    # row.
    assert [(key, version) for key, version, _ in rows] == [("link:abc", 4), ("link:abc", 5)]
    assert rows[0].body is None
    assert json.loads(rows[1].body or "")["target"] == "lnk_new"


@pytest.mark.rule("L3")
@pytest.mark.parametrize("order", [1, -1])
def test_code_belongs_to_the_active_link_if_versions_are_equal(order):
    links = [link("abc", 7, "deleted", "lnk_old"), link("abc", 7, "deleted", "lnk_older"), link("abc", 7)]
    [row] = rows_of([], links[::order], None, DEFAULT, 0)
    assert json.loads(row.body or "")["target"] == "lnk_a"


def test_lists_of_visitors_are_in_every_path_of_a_site():
    change = SiteChange(
        excluded_networks=("192.0.2.0/24",), excluded_countries=("FR",), excluded_asns=(64496,), respect_gpc=False
    )
    changed = change.apply_to(site(2, retiring=(Retiring("/old", None, 99),)))
    expected = {
        "target": "site_a",
        "excluded_paths": ["/admin"],
        "script": "k3",
        "excluded_networks": ["192.0.2.0/24"],
        "excluded_countries": ["FR"],
        "excluded_asns": [64496],
    }
    rows = {row.key: json.loads(row.body or "") for row in rows_of([changed], [], None, DEFAULT, 0)}
    assert rows == {"path:shop.example/ab/cd": expected, "path:shop.example/old": {**expected, "until": 99}}


@pytest.mark.rule("L3")
def test_deleted_sites_and_links_are_removed():
    rows = rows_of([site(2, "deleted")], [link("abc", 3, "deleted")], None, DEFAULT, 0)
    assert rows == [("path:shop.example/ab/cd", 2, None), ("link:abc", 3, None)]


@pytest.mark.rule("S5")
@pytest.mark.parametrize(("after", "removed"), [(0, {"/older", "/old"}), (3, {"/old"}), (4, set())])
def test_ended_path_is_removed_once(after, removed):
    ended = (EndedPath("/older", 3), EndedPath("/old", 4))
    rows = rows_of([replace(site(5), ended_paths=ended)], [], None, DEFAULT, after)
    assert {row.key for row in rows if row.body is None} == {f"path:shop.example{path}" for path in removed}
    assert [row.key for row in rows if row.body is not None] == ["path:shop.example/ab/cd"]


def test_retiring_path_has_its_end():
    rows = rows_of([site(2, retiring=(Retiring("/old", None, 99),))], [], None, DEFAULT, 0)
    bodies = {key: json.loads(body or "") for key, _, body in rows}
    fields = {"target": "site_a", "excluded_paths": ["/admin"], "script": "k3"}
    assert bodies["path:shop.example/ab/cd"] == fields
    assert bodies["path:shop.example/old"] == {**fields, "until": 99}


@pytest.mark.parametrize("value", [True, False])
def test_settings_are_in_all_paths_of_a_site_only_while_they_are_on(value):
    change = SiteChange(respect_gpc=value, visitor_opt_out=value)
    changed = change.apply_to(site(2, retiring=(Retiring("/old", None, 99),)))
    rows = [json.loads(row.body or "") for row in rows_of([changed], [], None, DEFAULT, 0)]
    settings = {"respect_gpc": True, "visitor_opt_out": True} if value else {}
    fields = {"target": "site_a", "excluded_paths": ["/admin"], "script": "k3", **settings}
    assert rows == [fields, {**fields, "until": 99}]


def test_link_host_is_written_only_if_newer():
    assert rows_of([], [], HOST, DEFAULT, 1) == []
    assert rows_of([], [], HOST, DEFAULT, 0) == [("host", 1, '{"host":"go.example"}')]
    [row] = rows_of(
        [], [], replace(HOST, root_url="https://a.example/", not_found_url="https://b.example/"), DEFAULT, 0
    )
    assert json.loads(row.body or "") == {
        "host": "go.example",
        "root_url": "https://a.example/",
        "not_found_url": "https://b.example/",
    }


def test_settings_are_written_only_if_changed_and_newer():
    assert rows_of([], [], None, DEFAULT, 0) == []
    kept = WorkerSettings(14, version=6)
    assert rows_of([], [], None, kept, 6) == []
    assert rows_of([], [], None, kept, 5) == [("days_kept", 6, '{"days":14}')]
    # Earlier versions of the Worker ignore the number of months and the plan.
    months = WorkerSettings(35, 12, version=6)
    assert rows_of([], [], None, months, 5) == [("days_kept", 6, '{"days":35,"months":12}')]
    paid = WorkerSettings(version=6, plan="paid")
    assert rows_of([], [], None, paid, 5) == [("days_kept", 6, '{"days":35,"plan":"paid"}')]
    # To return to the default, a row must replace the previous row.
    assert rows_of([], [], None, WorkerSettings(35, version=7), 6) == [("days_kept", 7, '{"days":35}')]


def test_rows_are_ordered_oldest_first():
    rows = rows_of([site(7)], [link("b", 2), link("a", 9)], HOST, DEFAULT, 0)
    assert [version for _, version, _ in rows] == [1, 2, 7, 9]


@pytest.mark.parametrize("batches", [[0, 1], [1, 0], [1, 1], [0, 0, 1]])
def test_statements_keep_the_newest_rows_in_any_order_and_when_repeated(batches):
    older = rows_of([], [link(f"c{n}", n) for n in range(1, 80)], HOST, DEFAULT, 0)
    again = [link("c8", 94, "deleted"), link("c8", 95, link_id="lnk_new")]
    newer = rows_of([site(100)], [link("c7", 90, "deleted"), *again], None, DEFAULT, 80)
    written = [[*write_statements(older), raise_version(80)], [*write_statements(newer), raise_version(100)]]
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("unhex", 1, lambda text: None if text is None else bytes.fromhex(text))
        for statement in load_bundle().schema_statements:
            database.execute(statement)
        for batch in batches:
            for text, parameters in written[batch]:
                assert len(parameters) <= 100, "D1 allows 100 parameters"
                database.execute(text, {str(n): value for n, value in enumerate(parameters, 1)})
        found = dict(database.execute("select key, body from config").fetchall())
        assert database.execute("select value from meta where key = 'config_version'").fetchone() == (100,)
    expected = {row.key: row.body for row in (*(older if 0 in batches else []), *newer)}
    assert found == expected


@given(
    st.builds(
        Rule,
        st.text(),
        countries=st.none() | st.lists(st.text(max_size=2)).map(tuple),
        devices=st.none() | st.lists(st.sampled_from(["mobile", "desktop"])).map(tuple),
        languages=st.none() | st.lists(st.text(max_size=2)).map(tuple),
        os=st.none() | st.lists(st.sampled_from(["iOS", "Linux"])).map(tuple),
        query=st.none() | st.builds(Parameter, st.text(), st.none() | st.text()),
    )
)
def test_rule_survives_a_round_trip_through_json(rule):
    fields = json.loads(json.dumps(rule.fields()))
    assert Rule.from_fields(fields) == rule
    assert None not in fields.values()
    [row] = rows_of([], [link("abc", 3, rules=(rule,))], None, DEFAULT, 0)
    [written] = json.loads(row.body or "")["rules"]
    assert {"url": written["url"], **written.get("when", written)} == fields
