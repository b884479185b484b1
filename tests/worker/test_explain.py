"""For thousands of clicks, the explainer agrees with the Worker (rule X1) in every field."""

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
SHARE = 1 if EVERYTHING else 10  # one of SHARE random clicks is tested
COUNTRIES = ["DE", "AT", "US", "XX", "T1", "ZZ"]
# Difficult input for patterns: line ends, lone surrogates, and letters that become ASCII if their case changes.
ODD = [
    *("\n", "\r", "\u2028", "\u2029", "\x85", "\u00a0", "\ufeff", "\u3000", "\x1c", "\x00", "\t", "\x7f"),
    *("\u017f", "\u212a", "\u0130", "\u0131", "ß", "ä", "Σ", "ΑΣ", "😀", "\U00010400", "\ud83d", "\ude00"),
    *("\u0663", "\uff11"),
]
FRAGMENTS = [*" /-.();|@$^[]\\%", "bot", "Android 9;", "TV", "google"]
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
    """Return user agents of crawlers and people, from the packages that the Worker's tests use."""
    modules = EDGE_WORKER / "node_modules"
    crawlers = json.loads((modules / "crawler-user-agents" / "crawler-user-agents.json").read_text())
    [people_file] = modules.glob("user-agents/**/user-agents.json")
    people = json.loads(people_file.read_text())
    found = {ua for crawler in crawlers for ua in crawler.get("instances", [])}
    found |= {person["userAgent"] for person in people}
    assert len(found) > 2_500
    return sorted(found)


def words() -> list[str]:
    """Return the words that occur in the Worker's patterns."""
    text = (EDGE_WORKER.parent / "svc" / "bundle" / "patterns.json").read_text()
    return sorted({word for word in _fragments_of(text) if 2 < len(word) < 30})


def _fragments_of(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() or sign in "/ -" else "\0" for sign in text).split("\0")


def mutated(dice: random.Random, ua: str, fragments: Sequence[str]) -> str:
    """Return a user agent with random changes: text is removed, inserted, repeated, or changed to another case."""
    for _ in range(dice.randint(1, 3)):
        place = dice.randint(0, len(ua))
        match dice.randint(0, 6):
            case 0:
                ua = ua[:place] + dice.choice(fragments) + ua[place:]
            case 1:
                ua = ua[:place] + ua[place + dice.randint(1, 20) :]
            case 2:
                ua = ua[:place] + dice.choice(ODD) + ua[place:]
            case 3:
                ua = dice.choice([ua.lower(), ua.upper(), ua.swapcase()])
            case 4:
                ua = ua[:place]
            case 5:
                ua = dice.choice(fragments) * dice.randint(1, 300) + ua
            case 6:
                ua = ua + dice.choice([*fragments, *ODD]) * dice.randint(1, 600)
    return ua


def search_of(dice: random.Random) -> str:
    """Return a random query string, which may name a source."""
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


def explained_by_worker(cases: Sequence[tuple[Link, Click]]) -> list[dict[str, Any]]:
    """Return the Worker's results for these clicks, from one Node process."""
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
    response = subprocess.run(
        node_command(EDGE_WORKER / "tools" / "clicks.js"),
        input=json.dumps(sent).encode(),
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert response.returncode == 0, response.stderr.decode()
    found: list[dict[str, Any]] = json.loads(response.stdout)
    return found


def assert_same_as_worker(cases: Sequence[tuple[Link, Click]]) -> None:
    for (link, click), expected in zip(cases, explained_by_worker(cases), strict=True):
        explained = asdict(EXPLAINER.explain(link, click))
        rule = explained.pop("rule")
        assert explained == expected, (link.rules, click)
        assert explained["url"] == (link.url if rule is None else link.rules[rule].url)


@pytest.mark.rule("X1")
def test_user_agent_corpus_is_classified_as_by_the_worker():
    assert_same_as_worker([(link_of(()), Click("DE", ua, "", "GET")) for ua in corpus()])


@pytest.mark.rule("X1")
def test_generated_user_agents_are_classified_as_by_the_worker():
    dice = random.Random(f"user agents {SEED}")
    user_agents, fragments = corpus(), [*words(), *FRAGMENTS]
    uas = [mutated(dice, dice.choice([*user_agents, ""]), fragments) for _ in range(4_000 // SHARE)]
    uas += ["".join(dice.choices([*fragments, *ODD], k=dice.randint(1, 40))) for _ in range(4_000 // SHARE)]
    uas += [fragment * (600 // len(fragment)) for fragment in fragments]
    uas += [start + fragment for fragment in fragments for start in ("", "Mozilla/5.0 (Linux; Android 9; ")]
    uas += [
        "Linux Android 9; Spider",
        "\U0001f600" * 300 + "bot",
        "Mozilla/5.0 (X11) " + "\U0001f600 " * 170 + "spider",
    ]
    assert_same_as_worker([(link_of(()), Click("DE", ua, "", "GET")) for ua in uas])


@pytest.mark.rule("X1")
def test_rules_countries_sources_and_methods_are_evaluated_as_by_the_worker():
    dice = random.Random(f"clicks {SEED}")
    user_agents = corpus()
    cases = []
    for _ in range(4_000 // SHARE):
        ua = dice.choice([*user_agents, ""])
        click = Click(dice.choice(COUNTRIES), ua, search_of(dice), dice.choice(("GET", "GET", "GET", "HEAD")))
        cases.append((link_of(rules_of(dice)), click))
    person = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E1 Safari/604.1"
    cases += [(link_of(()), Click("DE", person, search_of(dice), "GET")) for _ in range(6_000 // SHARE)]
    cases += [(link_of(()), Click("DE", person, f"?{name}={value}", "GET")) for name in NAMES for value in VALUES]
    assert_same_as_worker(cases)
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
def test_query_is_encoded_as_by_a_browser(query: str | None, search: str):
    assert Click.from_request("DE", "x", query, "GET").search == search


def test_absent_values_have_defaults():
    assert Click.from_request(None, None, None, "GET") == Click("XX", "", "", "GET")
    assert Click.from_request("DE", "  \tcurl/8\t", "a", "HEAD") == Click("DE", "curl/8", "?a", "HEAD")


def test_bundle_with_untranslatable_pattern_is_rejected(tmp_path: Path):
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
def test_untranslatable_pattern_is_rejected(source: str, flags: str):
    with pytest.raises(ValueError, match="/"):
        compiled(source, flags)
