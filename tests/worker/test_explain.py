"""Explain says what the worker does (rule X1): both read the same thousands of clicks, and agree in every field."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.tools.node import node_command
from svc.config import ConfigError
from svc.model import Link, Rule
from svc.worker.bundle import load_bundle
from svc.worker.explain import Click
from svc.worker.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

EDGE_WORKER = Path(__file__).parents[2] / "edge_worker"
EXPLAINER = load_bundle().explainer
SHARE = 1 if EVERYTHING else 10  # one of this many random clicks is tried
COUNTRIES = ["DE", "AT", "US", "XX", "T1", "ZZ"]
# What a pattern may stumble over: ends of lines, halves of characters, letters whose other case is in ASCII.
ODD = [
    *("\n", "\r", "\u2028", "\u2029", "\x85", "\u00a0", "\ufeff", "\u3000", "\x1c", "\x00", "\t", "\x7f"),
    *("\u017f", "\u212a", "\u0130", "\u0131", "ß", "ä", "Σ", "ΑΣ", "😀", "\U00010400", "\ud83d", "\ude00"),
    *("\u0663", "\uff11"),
]
PIECES = [*" /-.();|@$^[]\\%", "bot", "Android 9;", "TV", "google"]
NAMES = ["utm_source", "ref", "q", "UTM_SOURCE", "utm_source ", "rq", "q=", "utm_source=", "xref"]
VALUES = [
    *("qr", "QR", "+qr", "https://qr/"),
    *("", "newsletter", "Spring%20Sale", "+a+", "%", "%2", "%zz", "%253A", "a&ref=b", "a#b", "?q", "%C3%A4", "%c3"),
    *("%ED%A0%80", "%F0%9F%98%80", "%C0%80", "%F4%90%80%80", "%F0%90%90%80A", "%CE%91%CE%A3", "%C4%B0", "%1Ca"),
    *("%EF%BB%BFa%C2%A0", "%C2%85a", "%E3%80%80", "%E2%80%A8a", "%00b%1F", "a%40b.de", "ann@b.de"),
    *("https://www.Example.com/a?b", "http%3A%2F%2FWWW.a.de%3A80%2F", "www.x.de", "www.www.x", "https%3A//a@b.de"),
    *("android-app://com.google.android.gm", "[::1]", "https://[::1]/", "HTTPS://"),
    *("x" * 99, "x" * 100, "x" * 101, "%C3%9C" * 60, "%F0%9F%98%80" * 60, "a" * 999 + "%41"),
]


def corpus() -> list[str]:
    """User agents of crawlers and of people, from the collections that the worker is judged by."""
    modules = EDGE_WORKER / "node_modules"
    crawlers = json.loads((modules / "crawler-user-agents" / "crawler-user-agents.json").read_text())
    [people_file] = modules.glob("user-agents/**/user-agents.json")
    people = json.loads(people_file.read_text())
    found = {ua for crawler in crawlers for ua in crawler.get("instances", [])}
    found |= {person["userAgent"] for person in people}
    assert len(found) > 2_500
    return sorted(found)


def words() -> list[str]:
    """The words of the patterns themselves."""
    text = (EDGE_WORKER.parent / "svc" / "bundle" / "patterns.json").read_text()
    return sorted({word for word in _pieces_of(text) if 2 < len(word) < 30})


def _pieces_of(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() or sign in "/ -" else "\0" for sign in text).split("\0")


def changed(dice: random.Random, ua: str, pieces: Sequence[str]) -> str:
    """The same with something cut out, put in, repeated, in another case, or made too long."""
    for _ in range(dice.randint(1, 3)):
        place = dice.randint(0, len(ua))
        match dice.randint(0, 6):
            case 0:
                ua = ua[:place] + dice.choice(pieces) + ua[place:]
            case 1:
                ua = ua[:place] + ua[place + dice.randint(1, 20) :]
            case 2:
                ua = ua[:place] + dice.choice(ODD) + ua[place:]
            case 3:
                ua = dice.choice([ua.lower(), ua.upper(), ua.swapcase()])
            case 4:
                ua = ua[:place]
            case 5:
                ua = dice.choice(pieces) * dice.randint(1, 300) + ua
            case 6:
                ua = ua + dice.choice([*pieces, *ODD]) * dice.randint(1, 600)
    return ua


def search_of(dice: random.Random) -> str:
    """A query that may name a source, in one of many ways."""
    fields = []
    for _ in range(dice.randint(0, 3)):
        value = dice.choice(VALUES) + dice.choice(["", "", dice.choice(VALUES), dice.choice(ODD)])
        fields.append(dice.choice([f"{dice.choice(NAMES)}={value}", dice.choice(NAMES), value]))
    return "?" + "&".join(fields) if fields else ""


def rules_of(dice: random.Random) -> tuple[Rule, ...]:
    countries = [None, (), ("DE",), ("US", "AT"), ("XX",), ("DE", "AT", "US")]
    devices = [None, (), ("mobile",), ("desktop",), ("mobile", "desktop")]
    return tuple(
        Rule(f"https://example.com/{n}", dice.choice(countries), dice.choice(devices))
        for n in range(dice.randint(0, 10))
    )


def link_of(rules: tuple[Rule, ...]) -> Link:
    return Link("lnk_a", "acc_a", 1, "abc", "https://example.com/", rules, "active", 1, 0)


def by_the_worker(cases: Sequence[tuple[Link, Click]]) -> list[dict[str, Any]]:
    """What the worker's functions make of these, in one process of Node."""
    sent = []
    for link, click in cases:
        row: dict[str, Any] = {"target": link.id, "url": link.url}
        if link.rules:
            row["rules"] = [rule.fields() for rule in link.rules]
        sent.append(
            {
                "link": row,
                "country": click.country,
                "ua": click.user_agent,
                "search": click.search,
                "method": click.method,
            }
        )
    answer = subprocess.run(
        node_command(EDGE_WORKER / "tools" / "clicks.js"),
        input=json.dumps(sent).encode(),
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert answer.returncode == 0, answer.stderr.decode()
    found: list[dict[str, Any]] = json.loads(answer.stdout)
    return found


def agree(cases: Sequence[tuple[Link, Click]]) -> None:
    for (link, click), expected in zip(cases, by_the_worker(cases), strict=True):
        explained = asdict(EXPLAINER.explain(link, click))
        rule = explained.pop("rule")
        assert explained == expected, (link.rules, click)
        assert explained["url"] == (link.url if rule is None else link.rules[rule].url)


@pytest.mark.rule("X1")
def test_every_user_agent_of_the_collections_is_read_as_by_the_worker():
    agree([(link_of(()), Click("DE", ua, "", "GET")) for ua in corpus()])


@pytest.mark.rule("X1")
def test_user_agents_that_nobody_sends_are_read_as_by_the_worker():
    dice = random.Random(f"user agents {SEED}")
    whole, pieces = corpus(), [*words(), *PIECES]
    uas = [changed(dice, dice.choice([*whole, ""]), pieces) for _ in range(4_000 // SHARE)]
    uas += ["".join(dice.choices([*pieces, *ODD], k=dice.randint(1, 40))) for _ in range(4_000 // SHARE)]
    uas += [piece * (600 // len(piece)) for piece in pieces]
    uas += [start + piece for piece in pieces for start in ("", "Mozilla/5.0 (Linux; Android 9; ")]
    uas += [
        "Linux Android 9; Spider",
        "\U0001f600" * 300 + "bot",
        "Mozilla/5.0 (X11) " + "\U0001f600 " * 170 + "spider",
    ]
    agree([(link_of(()), Click("DE", ua, "", "GET")) for ua in uas])


@pytest.mark.rule("X1")
def test_rules_countries_sources_and_methods_are_read_as_by_the_worker():
    dice = random.Random(f"clicks {SEED}")
    whole = corpus()
    cases = []
    for _ in range(4_000 // SHARE):
        ua = dice.choice([*whole, ""])
        click = Click(dice.choice(COUNTRIES), ua, search_of(dice), dice.choice(("GET", "GET", "GET", "HEAD")))
        cases.append((link_of(rules_of(dice)), click))
    person = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E1 Safari/604.1"
    cases += [(link_of(()), Click("DE", person, search_of(dice), "GET")) for _ in range(6_000 // SHARE)]
    cases += [(link_of(()), Click("DE", person, f"?{name}={value}", "GET")) for name in NAMES for value in VALUES]
    agree(cases)
    sources = {EXPLAINER.explain(link, click).source for link, click in cases}
    assert {"qr", "", "newsletter", "spring sale", "example.com", "com.google.android.gm"} <= sources


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("query", "search"),
    [
        (None, ""),
        ("", ""),
        ("?", ""),
        ("q", "?q"),
        ("?q", "?q"),
        ("a=1#?q", "?a=1"),
        ("utm_source=Ä b'\"<>", "?utm_source=%C3%84%20b%27%22%3C%3E"),
        ("a=%41%zz+{|}^`\\", "?a=%41%zz+{|}^`\\"),
    ],
)
def test_a_query_is_what_a_browser_would_send(query: str | None, search: str):
    assert Click.of("DE", "x", query, "GET").search == search


def test_what_is_absent_was_not_sent():
    assert Click.of(None, None, None, "GET") == Click("XX", "", "", "GET")
    assert Click.of("DE", "  \tcurl/8\t", "a", "HEAD") == Click("DE", "curl/8", "?a", "HEAD")


def test_a_bundle_whose_patterns_cannot_be_read_in_the_same_way_is_refused(tmp_path: Path):
    folder = tmp_path / "bundle"
    shutil.copytree(EDGE_WORKER.parent / "svc" / "bundle", folder)
    patterns = json.loads((folder / "patterns.json").read_text())
    patterns["tv"] = [r"\p{L}TV", "u"]
    (folder / "patterns.json").write_text(json.dumps(patterns))
    with pytest.raises(ConfigError, match="TV"):
        load_bundle(folder)


@pytest.mark.parametrize(
    ("source", "flags"),
    [("a", "u"), ("ä", ""), (r"\p{L}", ""), (r"[\S]", ""), (r"(?<=a+)b", ""), ("(", ""), (r"\cA", "")],
)
def test_a_pattern_that_would_mean_something_else_here_is_refused(source: str, flags: str):
    with pytest.raises(ValueError, match="/"):
        compiled(source, flags)
