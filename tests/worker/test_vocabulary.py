"""Code and documentation agree with vocabulary.json, which the Worker and the service share."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from svc.actors.requests.sites import new_script_name
from svc.clock import DAY_MS
from svc.config import ConfigError
from svc.ids import new_site_path
from svc.model import DIMENSIONS, DROP_REASONS, Dimension
from svc.worker.bundle import load_bundle
from svc.worker.counts import Rows, TargetDays, add_up

ROOT = Path(__file__).parents[2]
VOCABULARY = json.loads((ROOT / "edge_worker" / "src" / "vocabulary.json").read_text())
BUNDLE = ROOT / "svc" / "bundle"


def table(document: str, head: str) -> list[list[str]]:
    """Return the rows of the Markdown table with this header line (`head`), without backticks."""
    lines = (ROOT / "docs/develop" / document).read_text().splitlines()
    found: list[list[str]] = []
    for line in lines[lines.index(head) + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return found


def test_service_and_worker_have_the_same_breakdowns_and_drop_reasons():
    assert list(VOCABULARY["dimensions"]) == list(DIMENSIONS) == list(get_args(Dimension))
    assert list(VOCABULARY["drop_reasons"]) == list(DROP_REASONS)
    bundle = load_bundle()
    assert {name: cap._asdict() for name, cap in bundle.caps.items()} == VOCABULARY["dimensions"]
    assert bundle.schema == VOCABULARY["schema"]


def test_worker_recognizes_all_generated_site_paths():
    form = re.compile(VOCABULARY["site_path"])
    for _ in range(200):
        path = new_site_path()
        assert form.search(path), path
        assert form.search(f"{path}/{new_script_name()}.js"), path
        assert form.search(f"{path}/off"), path
    for path in ("/", "/abcdefgh/", "/abcd/efgh/page", "/about-us", "/ABCDEFGH", "/abcd"):
        assert not form.search(path), path


def test_push_documentation_lists_all_drop_reasons():
    dropped = json.loads((ROOT / "docs/develop/push.schema.json").read_text())["$defs"]["dropped"]
    assert list(dropped["properties"]) == dropped["required"] == list(VOCABULARY["drop_reasons"])
    assert dict(table("push.md", "| reason | what is counted |")) == VOCABULARY["drop_reasons"]


def test_database_documentation_lists_all_caps_and_bot_reasons():
    rows = table("worker-breakdowns.md", "| breakdown | content of a key | keys | bytes |")
    caps = {name: {"keys": int(cap), "bytes": int(size.replace(",", ""))} for name, _, cap, size in rows}
    assert caps == VOCABULARY["dimensions"]
    keys = {name: keys for name, keys, *_ in rows}
    assert re.findall(r"\w+", keys["bots"]) == list(VOCABULARY["bot_reasons"])
    text = (ROOT / "docs/develop/worker-counting.md").read_text()
    assert re.findall(r"`id` = minute . (\d+) \+ slot", text) == [str(VOCABULARY["log_slots"])]


def test_database_documentation_lists_all_tables_and_columns():
    with closing(sqlite3.connect(":memory:")) as database:
        for statement in load_bundle().schema_statements:
            database.execute(statement)
        made = set()
        for (name,) in database.execute("select name from sqlite_schema where type = 'table'").fetchall():
            columns = [row[1] for row in database.execute("select * from pragma_table_info(?)", [name])]
            made.add(f"{name}({', '.join(columns)})")
    assert {name for name, *_ in table("worker-database.md", "| table | content | written by |")} == made


def test_live_report_uses_the_worker_caps():
    cap = VOCABULARY["dimensions"]["devices"]["keys"]
    line = '["lnk_a",480000,"","aaaaaaaa","","","DE|device{}|Firefox|Android"]\n'
    rows = [{"lines": "".join(line.format(number) for number in range(cap + 2))}]
    live = add_up(Rows([], [], [], rows, []), TargetDays("lnk_a", 20_000, 20_000), load_bundle().caps, 20_000 * DAY_MS)
    assert len(live.breakdowns["devices"]) == cap + 1
    assert live.breakdowns["devices"]["(other)"] == 2


@pytest.mark.parametrize("words", ["dimensions", "drop_reasons"])
def test_bundle_of_another_version_is_rejected(tmp_path: Path, words: str):
    folder = tmp_path / "bundle"
    shutil.copytree(BUNDLE, folder)
    load_bundle(folder)
    other = {**VOCABULARY, words: {**VOCABULARY[words], "colors": 5}}
    (folder / "vocabulary.json").write_text(json.dumps(other))
    with pytest.raises(ConfigError, match="breakdowns or drop reasons"):
        load_bundle(folder)
