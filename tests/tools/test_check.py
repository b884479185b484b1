"""Tests of how `make check` selects tests for a change."""

from __future__ import annotations

from tools.check import affected, select
from tools.test_times import UNKNOWN_S

TESTS = {
    "tests/store/test_users.py": "from svc.store import users\nfrom svc.clock import DAY_MS\n",
    "tests/http/resources/test_me.py": "from svc.store import users, sessions\nimport svc.model, svc.errors, svc.ids\n",
    "tests/web/test_forms.py": 'PAGES = ROOT / "pages.json"\n',
    "tests/worker/test_counts.py": "import pytest\n",
}


def test_test_that_imports_a_changed_module_is_chosen_most_specific_first():
    assert affected(["svc/store/users.py"], TESTS) == ["tests/store/test_users.py", "tests/http/resources/test_me.py"]


def test_package_is_changed_by_its_init_file():
    assert affected(["svc/store/__init__.py"], TESTS) == [
        "tests/store/test_users.py",
        "tests/http/resources/test_me.py",
    ]


def test_test_of_the_same_name_is_chosen():
    assert affected(["svc/worker/counts.py"], TESTS) == ["tests/worker/test_counts.py"]


def test_changed_test_and_test_that_names_a_changed_file_are_chosen():
    changed = ["tests/worker/test_counts.py", "svc/web/pages.json"]
    assert set(affected(changed, TESTS)) == {"tests/worker/test_counts.py", "tests/web/test_forms.py"}


def test_changed_conftest_concerns_the_tests_below_it():
    assert affected(["tests/web/conftest.py"], TESTS) == ["tests/web/test_forms.py"]


def test_change_of_an_unrelated_file_concerns_no_test():
    assert affected(["docs/use/api.md", "svc/store/keys.py"], TESTS) == []


def test_selection_fits_the_budget_and_lists_the_rest():
    chosen = select(["a", "b", "c", "d"], {"a": 20.0, "b": 100.0, "c": 15.0}, 40.0 + UNKNOWN_S)
    assert chosen.chosen == ["a", "c", "d"]
    assert chosen.left_out == ["b"]
