"""Tests of the documentation build: links, navigation, search index, llms.txt, and errors that stop the build."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from svc.web.help.__main__ import build, search_index
from svc.web.help.library import FOLDERS, Library
from svc.web.help.markdown import HelpError, parse, rewrite, slug
from tests.test_documents import DOCS, anchors
from tests.web.places import ROOT

PAGES: dict[str, str] = {
    "README.md": "# Documentation\n\nAll pages.\n\n[Use](use/README.md), [Operate](operate/README.md).\n",
    "use/README.md": "# Use\n\nFor users.\n\n- [Keys](keys.md)\n",
    "use/keys.md": "# Keys\n\nMake keys. Then use them.\n\n## Make a key\n\nText.\n",
    "operate/README.md": "# Operate\n\nFor operators.\n\n[Back up](backup.md)\n",
    "operate/backup.md": "# Back up\n\nKeep a copy.\n",
}


def checkout(folder: Path, **changes: str) -> Path:
    """Write a checkout with small documents. `changes`: Markdown for new pages, or to append to `keys` and `backup`."""
    texts = dict(PAGES)
    for name, text in changes.items():
        [source] = [each for each in texts if each.endswith(f"/{name}.md")] or [f"use/{name}.md"]
        texts[source] = texts.get(source, "") + text
    for source, text in texts.items():
        path = folder / "docs" / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def built(folder: Path) -> dict[str, Any]:
    return build(folder, "1.2.3", "A service.")


class Seen(HTMLParser):
    """The ids, links and elements of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.update(name for name, _ in attrs)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href" and tag == "a"]


@pytest.fixture(scope="session")
def documentation() -> dict[str, Any]:
    """The project's documentation, as built."""
    return build(ROOT, "1.2.3", "A service.")


def test_links_between_pages_lead_to_the_same_format(tmp_path):
    text = "[back up](../operate/backup.md), [here](#make-a-key), [*all*](README.md), [it](keys.md#make-a-key)\n"
    pages = built(checkout(tmp_path, keys=text))["pages"]
    links = Seen(pages["/help/use/keys"]["text"].partition("<main")[2].partition("<footer")[0]).links
    expected = ["/help/operate/backup", "/help/use/keys#make-a-key", "/help/use", "/help/use/keys#make-a-key"]
    assert links == expected
    rewritten = re.findall(r"\]\(([^)]+)\)", pages["/help/use/keys.md"]["text"])
    assert rewritten == [re.sub(r"^([^#]+)", r"\1.md", link) for link in expected]
    assert "[*all*](/help/use.md)" in pages["/help/use/keys.md"]["text"]


def test_link_to_unserved_file_becomes_text_with_its_path(tmp_path):
    folder = checkout(tmp_path, backup="The [alert `rules`](prometheus/rules.yml) are [here](https://x.example/).\n")
    (folder / "docs/operate/prometheus").mkdir()
    (folder / "docs/operate/prometheus/rules.yml").touch()
    pages = built(folder)["pages"]
    path = "docs/<wbr>operate/<wbr>prometheus/<wbr>rules.yml"
    shown = f'The alert <code>rules</code> (<code>{path}</code>) are <a href="https://x.example/">here</a>.'
    assert shown in pages["/help/operate/backup"]["text"]
    assert (
        "The alert `rules` (`docs/operate/prometheus/rules.yml`) are [here](https://x.example/)."
        in pages["/help/operate/backup.md"]["text"]
    )


def test_links_of_the_web_are_unchanged_and_encoded_anchors_are_found(tmp_path):
    url = "https://x.example/?keys=%5B%7B%22a%22%7D%5D&amp=%26#top"
    text = f"## Über uns\n\n[x]({url}) [y](#über-uns) [z](keys.md#%C3%BCber-uns)\n"
    pages = built(checkout(tmp_path, keys=text))["pages"]
    links = Seen(pages["/help/use/keys"]["text"].partition("</h2>")[2].partition("<footer")[0]).links
    assert links[-3:] == [url, "/help/use/keys#über-uns", "/help/use/keys#über-uns"]
    assert f"[x]({url}) [y](/help/use/keys.md#über-uns)" in pages["/help/use/keys.md"]["text"]


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("keys.md#no-such-anchor", "is not an anchor of docs/use/keys.md"),
        ("../operate/backup.md#make-a-key", "is not an anchor of docs/operate/backup.md"),
        ("#make-the-key", "is not an anchor of docs/use/keys.md"),
        ("keys.md#Make-a-key", "is not an anchor of docs/use/keys.md"),
        ("missing.md", "does not exist"),
        ("../missing.yml", "does not exist"),
        ("../../../../etc/passwd", "does not exist"),
        ("/help/use/keys", "is neither a relative path nor a URL of the web"),
        ("//other.example/x", "is neither a relative path nor a URL of the web"),
        ("ftp://other.example/x", "is neither a relative path nor a URL of the web"),
    ],
)
def test_broken_link_fails_the_build(tmp_path, link, problem):
    with pytest.raises(HelpError, match=f"^{re.escape(f'docs/use/keys.md: {link} {problem}')}$"):
        built(checkout(tmp_path, keys=f"[x]({link})\n"))


def test_all_broken_links_are_reported_together_and_nothing_is_written(tmp_path):
    """The test runs the command from `make build` in a copy of the program."""
    checkout(tmp_path, keys="[x](one.md) [y](two.md)\n", backup="[z](#three)\n")
    for name in ("svc/__init__.py", "svc/web/__init__.py", "svc/identity/marks.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "svc/web/help", tmp_path / "svc/web/help", ignore=shutil.ignore_patterns("*.json"))
    command = [sys.executable, "-m", "svc.web.help", "help.json"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "The documentation cannot be built.",
        "docs/use/keys.md: one.md does not exist",
        "docs/use/keys.md: two.md does not exist",
        "docs/operate/backup.md: #three is not an anchor of docs/operate/backup.md",
    ]
    assert not (tmp_path / "help.json").exists()
    checkout(tmp_path)
    subprocess.run(command, cwd=tmp_path, env=environ, check=True)
    assert "/help/use/keys" in json.loads((tmp_path / "help.json").read_text())["pages"]


def test_page_that_no_readme_lists_fails_the_build(tmp_path):
    with pytest.raises(HelpError, match=r"docs/use/README\.md does not list use/other\.md"):
        Library(checkout(tmp_path, other="# Other\n\nText.\n"))


def test_relative_reference_link_is_refused_instead_of_being_left_unchanged(tmp_path):
    with pytest.raises(HelpError, match=r"docs/use/keys.md has a link that is not written as"):
        built(checkout(tmp_path, keys="[x][1]\n\n[1]: ../operate/backup.md\n"))


def test_titles_are_escaped_in_the_page(tmp_path):
    found = built(checkout(tmp_path, keys='## A `"><script>`\n'))["pages"]["/help/use/keys"]["text"]
    assert "<script>" not in found
    assert '<a href="#a-script">A "&gt;&lt;script&gt;</a>' in found


def test_anchors_of_all_pages_are_those_of_the_repository():
    for page in Library(ROOT).pages:
        title = {slug(page.document.title)}
        assert page.document.anchors | title == anchors(DOCS / page.source) | title, page.source


def test_pages_of_the_project_have_unique_ids_working_links_and_no_inline_code(documentation):
    pages = documentation["pages"]
    seen = {path: Seen(page["text"]) for path, page in pages.items() if page["file"].endswith(".html")}
    seen["missing"] = Seen(documentation["missing"]["text"])
    assert len(seen) > 30
    other = {"/", "/reference"}
    for path, page in seen.items():
        assert max(Counter(page.ids).values()) == 1, path
        assert {"script", "style", "img", "iframe"} & page.tags.keys() == set()
        assert [name for name in page.attributes if name == "style" or name.startswith("on")] == []
        assert page.tags["h1"] == 1
        for link in page.links:
            target, _, anchor = link.partition("#")
            if link.startswith("https:") or target in other or target.endswith(".md"):
                assert not target.startswith("/help") or target in pages, link
                continue
            assert anchor == "" or anchor in seen[target or path].ids, f"{path}: {link}"


def test_every_page_is_in_the_navigation_of_every_page(documentation):
    sources = [path for folder in FOLDERS for path in (DOCS / folder).rglob("*.md")]
    html_pages = [page["text"] for page in documentation["pages"].values() if page["file"].endswith(".html")]
    assert len(html_pages) == len(sources) + 1
    for text in [*html_pages, documentation["missing"]["text"]]:
        navigation = Seen(text.partition('<nav id="help-pages"')[2]).links
        assert len(set(navigation)) == len(sources)
        assert set(navigation) <= documentation["pages"].keys()


def test_current_page_is_marked_once(documentation):
    for path, page in documentation["pages"].items():
        if page["file"].endswith(".html"):
            assert page["text"].count('aria-current="page"') == 1, path


def test_markdown_of_all_pages_has_only_served_links(documentation):
    pages = documentation["pages"]
    for path, page in pages.items():
        if path.endswith(".md"):
            for link in parse(page["text"]).links:
                target, _, anchor = link.partition("#")
                if not link.startswith("https:"):
                    assert target in pages, f"{path}: {link}"
                    assert anchor == "" or anchor in parse(pages[target]["text"]).anchors, f"{path}: {link}"


def test_rewritten_page_differs_only_in_its_links():
    library = Library(ROOT)
    for page in library.pages:
        text = rewrite(page.text, partial(library.target, page))
        links = r"\]\([^)]*\)| \(`docs/[^`]*`\)|\["
        assert re.sub(links, "", text) == re.sub(links, "", page.text), page.source


def test_llms_txt_lists_every_page_with_one_line(documentation):
    lines = documentation["pages"]["/llms.txt"]["text"].splitlines()
    assert lines[0] == "# svc"
    assert lines[2] == "> A service. This is the documentation of version 1.2.3."
    listed = [found for line in lines if (found := re.fullmatch(r"- \[([^\]]+)\]\((/[^)]+)\): (\S.*[.?!])", line))]
    markdown = {path for path in documentation["pages"] if path.endswith(".md")} - {"/help.md"}
    assert {found[2] for found in listed} == markdown | {"/reference.md", "/openapi.json"}
    assert len(listed) == len([line for line in lines if line.startswith("-")])
    assert [line for line in lines if line.startswith("#")] == ["# svc", "## Use", "## Operate", "## API reference"]


def test_search_index_has_the_text_of_every_section_once(tmp_path):
    text = "| a | b |\n| - | - |\n| one | two |\n\n```sh\nsvc  serve\n```\n\n### Same\n\n- x\n- y `z`\n\n### Same\n"
    index = search_index(Library(checkout(tmp_path, keys=text)))
    assert ["/help/use/keys", "Keys"] in index["pages"]
    number = index["pages"].index(["/help/use/keys", "Keys"])
    assert [section[1:] for section in index["sections"] if section[0] == number] == [
        ["", "", "Make keys. Then use them."],
        ["make-a-key", "Make a key", "Text. a b one two svc serve"],
        ["same", "Same", "x y z"],
        ["same-1", "Same", ""],
    ]


def test_build_is_reproducible_and_another_version_has_other_pages(tmp_path, documentation):
    assert build(ROOT, "1.2.3", "A service.") == documentation
    newer = build(ROOT, "1.2.4", "A service.")["pages"]
    assert "Documentation of svc 1.2.4" in newer["/help/use/keys"]["text"]
    assert newer["/help/use/keys"]["text"] != documentation["pages"]["/help/use/keys"]["text"]


def test_help_links_of_the_application_lead_to_pages_and_anchors(documentation):
    """The test checks the source files, because the links on a page depend on the kind of account or error."""
    files = [*(ROOT / "svc/web/src").rglob("*.js*"), ROOT / "svc/web/index.html"]
    texts = {path: path.read_text() for path in files if "src/help/" not in path.as_posix()}
    found = {link for text in texts.values() for link in re.findall(r'"(/help[^"]*)"', text)}
    assert {"/help", "/help/use/ledger", "/help/use/cloudflare#create-a-bootstrap-token"} <= found
    for link in found:
        path, _, anchor = link.partition("#")
        assert path in documentation["pages"], link
        assert anchor == "" or anchor in Seen(documentation["pages"][path]["text"]).ids, link
    topics = re.findall(r'^  (\w+): "/help', texts[ROOT / "svc/web/src/ui/help.jsx"], re.MULTILINE)
    used = {topic for text in texts.values() for topic in re.findall(r'<Help to="(\w+)"', text)}
    assert set(topics) == used
