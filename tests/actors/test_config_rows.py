"""What the worker's table config gets from sites, links and the link host: pure."""

from __future__ import annotations

import json

import pytest

from svc.actors.sync import rows_of
from svc.model import Link, LinkHost, Retiring, Rule, Site


def link(code: str, version: int, state: str = "active", link_id: str = "lnk_a", rules: tuple[Rule, ...] = ()) -> Link:
    return Link(link_id, "acc_a", 1, code, "https://a.example/x", rules, state, version, 0)  # type: ignore[arg-type]


def site(version: int, state: str = "active", retiring: tuple[Retiring, ...] = ()) -> Site:
    return Site(
        "site_a",
        "acc_a",
        1,
        "shop.example",
        "zone",
        state,  # type: ignore[arg-type]
        "/ab/cd",
        "k3",
        ("/admin",),
        None,
        retiring,
        None,
        version,
        0,
    )


HOST = LinkHost("go.example", "zone", "active", "r", None, 1)


def test_a_link_with_rules_is_written_with_only_the_conditions_it_has():
    rules = (Rule("https://de.example", countries=("DE", "AT")), Rule("https://m.example", devices=("mobile",)))
    [(key, version, body)] = rows_of([], [link("abc", 3, rules=rules)], None, 0)
    assert (key, version) == ("link:abc", 3)
    assert json.loads(body or "") == {
        "target": "lnk_a",
        "url": "https://a.example/x",
        "rules": [
            {"countries": ["DE", "AT"], "url": "https://de.example"},
            {"devices": ["mobile"], "url": "https://m.example"},
        ],
    }


def test_a_code_that_was_freed_and_taken_again_belongs_to_the_new_link():
    rows = rows_of([], [link("abc", 5, link_id="lnk_new"), link("abc", 4, "deleted")], None, 0)
    assert [(key, version) for key, version, _ in rows] == [("link:abc", 5)]
    assert json.loads(rows[0][2] or "")["target"] == "lnk_new"


@pytest.mark.rule("L3")
def test_what_is_deleted_is_written_as_removed():
    rows = rows_of([site(2, "deleted")], [link("abc", 3, "deleted")], None, 0)
    assert rows == [("path:shop.example/ab/cd", 2, None), ("link:abc", 3, None)]


def test_an_old_path_is_written_with_its_end():
    rows = rows_of([site(2, retiring=(Retiring("/old", None, 99),))], [], None, 0)
    bodies = {key: json.loads(body or "") for key, _, body in rows}
    fields = {"target": "site_a", "excluded_paths": ["/admin"], "script": "k3"}
    assert bodies["path:shop.example/ab/cd"] == fields
    assert bodies["path:shop.example/old"] == {**fields, "until": 99}


def test_the_link_host_is_written_only_when_it_is_newer():
    assert rows_of([], [], HOST, 1) == []
    assert rows_of([], [], HOST, 0) == [("host", 1, '{"host":"go.example"}')]


def test_rows_come_oldest_first():
    rows = rows_of([site(7)], [link("b", 2), link("a", 9)], HOST, 0)
    assert [version for _, version, _ in rows] == [1, 2, 7, 9]
