"""Tests of the two forms of the snippet."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from svc.actors.requests.sites import new_script_name
from svc.ids import new_site_path
from svc.worker.bundle import load_bundle
from svc.worker.snippet import PATH_MARK, csp_hash, inline, script_tag

TAG = re.compile(r'<script (?:src="(?P<a>[^"]+)" defer|defer src="(?P<b>[^"]+)")></script>')


@pytest.mark.rule("S2")
def test_inline_snippet_is_small():
    template = load_bundle().snippet
    assert PATH_MARK in template
    for _ in range(200):
        made = inline(template, new_site_path())
        assert made.startswith("<script>")
        assert made.endswith("</script>")
        assert PATH_MARK not in made
        assert len(made.encode()) <= 410


def test_csp_hash_covers_the_code_between_the_tags():
    path, template = new_site_path(), load_bundle().snippet
    code = inline(template, path).removeprefix("<script>").removesuffix("</script>")
    assert csp_hash(template, path) == "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


@pytest.mark.rule("S2")
def test_script_tag_loads_the_path_with_varying_attribute_order():
    orders = set()
    for _ in range(200):
        path, name = new_site_path(), new_script_name()
        found = TAG.fullmatch(script_tag(path, name))
        assert found
        assert (found["a"] or found["b"]) == f"{path}/{name}.js"
        assert script_tag(path, name) == script_tag(path, name)
        orders.add(found["a"] is not None)
    assert orders == {True, False}


@pytest.mark.rule("S2")
def test_paths_have_one_or_two_segments_and_are_unique():
    paths = {new_site_path() for _ in range(500)}
    assert len(paths) == 500
    assert {path.count("/") for path in paths} == {1, 2}
    assert all(re.fullmatch(r"(/[a-z2-7]+){1,2}", path) and len(path) >= 9 for path in paths)
