"""Tests of `svc docs`: the list, single pages, and the folder with all files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_runs import ROOT, svc

DOCS = ROOT / "docs"


def test_list_has_every_page_with_its_title(tmp_path):
    said = svc(tmp_path, "docs")
    assert said.returncode == 0
    listed = dict(re.findall(r"^(\S+) {2,}(.+)$", said.stdout, re.MULTILINE))
    for path in [*(DOCS / "use").glob("*.md"), *(DOCS / "operate").glob("*.md")]:
        name = path.relative_to(DOCS).with_suffix("").as_posix()
        assert f"# {listed[name]}\n" == path.read_text().splitlines(keepends=True)[0]
    assert listed["operate/prometheus/svc.rules.yml"] == "alert rules for Prometheus"
    assert listed["operate/grafana/svc.json"] == "dashboard for Grafana"


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("operate/install", "operate/install.md"),
        ("install", "operate/install.md"),
        ("install.md", "operate/install.md"),
        ("svc.rules.yml", "operate/prometheus/svc.rules.yml"),
        ("operate/README", "operate/README.md"),
    ],
)
def test_page_is_printed_unchanged(tmp_path, page, source):
    said = svc(tmp_path, "docs", page)
    assert (said.returncode, said.stdout) == (0, (DOCS / source).read_text())


@pytest.mark.parametrize("page", ["nothing", "../cli.py", "/etc/passwd", "operate", "", "operate/../use/api"])
def test_unknown_page_is_reported(tmp_path, page):
    said = svc(tmp_path, "docs", page)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == f"svc: there is no page {page!r}; `svc docs` lists all pages\n"


def test_all_files_are_written_to_new_folder(tmp_path):
    said = svc(tmp_path, "docs", "--to", "a/b")
    written = {path.relative_to(tmp_path / "a/b") for path in (tmp_path / "a/b").rglob("*") if path.is_file()}
    assert (said.returncode, said.stdout) == (0, f"{len(written)} files are now in a/b\n")
    assert {Path("operate/grafana/svc.json"), Path("use/images/report.png"), Path("CHANGELOG.md")} <= written
    for name in ("operate/install.md", "operate/grafana/svc.json", "use/images/report.png"):
        assert (tmp_path / "a/b" / name).read_bytes() == (DOCS / name).read_bytes()


def test_folder_with_files_is_left_unchanged(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("notes")
    said = svc(tmp_path, "docs", "--to", "mine")
    assert (said.returncode, said.stderr) == (1, "svc: mine is not empty; choose a new folder\n")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    said = svc(tmp_path, "docs", "--to", "file/docs")
    assert said.returncode == 1
    assert said.stderr == "svc: cannot write the documentation: Not a directory: file/docs\n"


def test_page_is_utf_8_in_any_locale_and_pipe_may_close_early(tmp_path):
    command = f"LC_ALL=C PYTHONIOENCODING=ascii {sys.executable} -m svc docs use/errors"
    ended = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, (DOCS / "use/errors.md").read_bytes())
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m svc docs use/errors | head -n 1"],
        cwd=ROOT, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"# Errors\n", b"")
