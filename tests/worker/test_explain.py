"""Compares the service's explanation of a click with the Worker (rule X1). For thousands of clicks, every field must be
equal.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.tools.node import node_command
from svc.config import ConfigError
from svc.model import Device, Link, Parameter, Rule, Variant, WorkerSettings
from svc.worker.bundle import load_bundle
from svc.worker.config_rows import rows_of as config_rows_of
from svc.worker.explain import Click
from svc.worker.link_query import with_query
from svc.worker.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

EDGE_WORKER = Path(__file__).parents[2] / "edge_worker"
EXPLAINER = load_bundle().explainer
SHARE = 1 if EVERYTHING else 10  # the test uses one in this many random clicks
CLICKS, BATCH = 100_000 if EVERYTHING else 4_000, 2_000
DECIDING = ("countries", "devices", "languages", "os", "query", "split", "early", "ended", "inside", "forward_query")
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
    *("a%2540b.de", "a%252540b.de", "m%FCller%40b.de", "50%-a%40b.de", "2540", "%2504"),
    *("https://www.Example.com/a?b", "http%3A%2F%2FWWW.a.de%3A80%2F", "www.x.de", "www.www.x", "https%3A//a@b.de"),
    *("android-app://com.google.android.gm", "[::1]", "https://[::1]/", "HTTPS://"),
    *("x" * 99, "x" * 100, "x" * 101, "%C3%9C" * 60, "%F0%9F%98%80" * 60, "a" * 999 + "%41"),
]


LANGUAGES = ["de", "de-at", "en", "fr", "pt", "pt-br", "zh-hant", "x-klingon", "i-default"]
RANGES = [
    *("de", "DE-at", "de-AT-1996", "en-GB", "pt", "pt-BR", "zh-Hant-TW", "zh", "fr", "FR", "*", "sv", "deu"),
    *("", " ", "de_AT", "de-", "-de", "abcdefghi", "\u212alingon", "d\u0131", "de\x0b", "1de", "x-Klingon"),
]
WEIGHTS = [
    *("", "", "", ";q=0.9", ";q=0.5", ";q=0", ";q=0.000", ";q=0.001", ";q=1", ";q=1.000", ";q=0.", ";q=1."),
    " ;\tq=0.3 ",
    *(";q=1.5", ";q=", ";q=.5", ";Q=0.7", ";q=0.\u0661", ";q=0.1234", ";level=1;q=0.2", ";q =0.2", ";q=-1"),
]
SYSTEMS = ("iOS", "Android", "Windows", "macOS", "Linux")
PARAMETERS = [
    *(Parameter("q"), Parameter("q", ""), Parameter("ref", "qr"), Parameter("utm_source")),
    Parameter("utm_source", " a "),
    *(Parameter("utm_source", "ä"), Parameter("ref", "%"), Parameter("a"), Parameter("ref", "\U0001f600" * 60)),
    *(Parameter("xref", "\ufffd"), Parameter("rq", "newsletter"), Parameter("\u017f"), Parameter("utm_source ")),
    *(Parameter("ref", "\ufeffa\u00a0"), Parameter("xref", "a@b.de"), Parameter("?q"), Parameter("a#b")),
]


TARGETS = [
    *(
        "https://example.com/",
        "https://example.com",
        "https://example.com/?",
        "https://example.com/#",
        "https://a.b?#c?d",
    ),
    *(
        "https://example.com/a?q=1&ref=2&utm_source=own#x?y",
        "https://example.com/?%75tm_source=&a&&",
        "https://a.b/?a=%zz&",
    ),
    *("https://a.b/?+a=1#/?ref=b", f"https://a.b/{'x' * 2_000}?rq#{'y' * 30}", "https://a.b/?xref=%ED%A0%80&%FF=1"),
]
MOST_CHARS = 8_000
NOT_FOUND = "https://example.com/none"
START, END = 1_800_000_000_000, 1_800_000_001_000  # epoch ms


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
    devices: list[tuple[Device, ...] | None] = [None, (), ("mobile",), ("desktop",), ("mobile", "desktop")]
    return tuple(
        Rule(f"https://example.com/{n}", dice.choice(countries), dice.choice(devices))
        for n in range(dice.randint(0, 10))
    )


def any_rules_of(dice: random.Random) -> tuple[Rule, ...]:
    """Return rules with all kinds of conditions. A rule has few conditions, so that it often matches."""

    def rule(number: int) -> Rule:
        conditions: dict[str, Any] = {
            "countries": (dice.choice(COUNTRIES), "AT"),
            "devices": (dice.choice(("mobile", "desktop")),),
            "languages": tuple(dice.sample(LANGUAGES, dice.randint(1, 3))),
            "os": tuple(dice.sample(SYSTEMS, dice.randint(1, 2))),
            "query": dice.choice(PARAMETERS),
        }
        chosen = dice.sample(sorted(conditions), dice.choice((1, 1, 1, 2, 2, 3)))
        return Rule(f"https://example.com/{number}", **{name: conditions[name] for name in chosen})

    return tuple(rule(number) for number in range(dice.randint(1, 10)))


def any_link_of(dice: random.Random) -> Link:
    """Return a link with any features."""
    rules = tuple(
        replace(rule, url=f"{dice.choice(TARGETS)}{number}") for number, rule in enumerate(any_rules_of(dice))
    )
    return replace(
        link_of(rules if dice.random() < 0.8 else ()),
        url=dice.choice(TARGETS),
        forward_query=dice.random() < 0.5,
        starts_at=dice.choice((None, None, None, START, END)),
        ends_at=dice.choice((None, None, None, START, END)),
        after_url=dice.choice((None, "https://example.com/over?a=1")),
        split=any_split_of(dice) if dice.random() < 0.7 else (),
    )


def any_split_of(dice: random.Random) -> tuple[Variant, ...]:
    """Return 2 to 10 variants with random shares, which add up to 100."""
    ends = sorted([*dice.sample(range(1, 100), dice.randint(1, 9)), 100])
    return tuple(
        Variant(f"{dice.choice(TARGETS)}{end}", end - before) for before, end in zip([0, *ends], ends, strict=False)
    )


def accept_language_of(dice: random.Random) -> str:
    """Return a random Accept-Language header. Some headers exceed the length that is read."""
    ranges = [dice.choice(RANGES) + dice.choice(WEIGHTS) for _ in range(dice.choice((0, 1, 2, 3, 5, 80)))]
    return dice.choice((",", ",", ", ", "\t,", f",{dice.choice(ODD)}")).join(ranges)


def any_search_of(dice: random.Random) -> str:
    """Return a random query string that often has a parameter that a rule may name."""
    fields = []
    for _ in range(dice.randint(0, 3)):
        name = dice.choice([dice.choice(NAMES), dice.choice(PARAMETERS).name, "%71", "re%66", "+a", ""])
        value = dice.choice([dice.choice(VALUES), dice.choice(VALUES), dice.choice(PARAMETERS).value or ""])
        fields.append(dice.choice([f"{name}={value}", f"{name}={value}", name, f"{name}={value}{dice.choice(ODD)}"]))
        fields += [urlencode([(each.name, each.value or "")]) for each in dice.sample(PARAMETERS, dice.randint(0, 2))]
    return "?" + "&".join(fields) if fields else dice.choice(("", "?", "??q", "?&&=&"))


def link_of(rules: tuple[Rule, ...]) -> Link:
    return Link("lnk_a", "acc_a", 1, "abc", "https://example.com/", rules, "active", 1, 0)


def explained_by_worker(cases: Sequence[tuple[Link, Click]]) -> list[dict[str, Any]]:
    """Return the Worker's results for these clicks, from one Node process."""
    sent = []
    for link, click in cases:
        [row] = config_rows_of([], [link], None, WorkerSettings(), 0)
        sent.append(
            {
                "link": json.loads(row.body or ""),
                "country": click.country,
                "ua": click.user_agent,
                "language": click.accept_language,
                "at": click.at,
                "bucket": click.bucket,
                "not_found_url": NOT_FOUND,
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
        explained = asdict(EXPLAINER.explain(link, click, NOT_FOUND))
        rule, variant = explained.pop("rule"), explained.pop("variant")
        assert explained == expected, (link, click)
        if link.outside_at(click.at) is not None:
            assert (rule, variant, explained["url"]) == (None, None, link.after_url or NOT_FOUND)
            continue
        assert (variant is None) == (not link.split or rule is not None)
        target = link.url if variant is None else link.split[variant].url
        target = target if rule is None else link.rules[rule].url
        assert explained["url"] == (with_query(target, click.search, MOST_CHARS) if link.forward_query else target)


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
@pytest.mark.timeout(900)
def test_all_conditions_are_evaluated_as_by_the_worker():
    dice = random.Random(f"conditions {SEED}")
    user_agents = corpus()
    matches: Counter[str] = Counter()
    for _ in range(CLICKS // BATCH):
        cases = []
        for _ in range(BATCH):
            click = Click(
                dice.choice(COUNTRIES), dice.choice(user_agents), any_search_of(dice),
                dice.choice(("GET", "GET", "GET", "HEAD")), accept_language_of(dice),
                at=dice.choice((START - 1, START, END - 1, END)), bucket=dice.randrange(100),
            )  # fmt: skip
            cases.append((any_link_of(dice), click))
        assert_same_as_worker(cases)
        matches += matched_conditions(cases)
    # Each kind of condition decides the target of many clicks.
    assert min(matches[name] for name in DECIDING) > CLICKS / 100, matches


def matched_conditions(cases: Sequence[tuple[Link, Click]]) -> Counter[str]:
    """Return the number of clicks for which each condition or other feature of a link decides the result."""
    found: Counter[str] = Counter()
    for link, click in cases:
        explained = EXPLAINER.explain(link, click)
        found.update([] if explained.rule is None else link.rules[explained.rule].fields().keys())
        found.update({"split": explained.variant is not None, link.outside_at(click.at) or "inside": 1})
        without = EXPLAINER.explain(replace(link, forward_query=False), click)
        found.update({"forward_query": explained.url != without.url})
    return found


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("target", "search", "url"),
    [
        ("https://a.b", "", "https://a.b"),
        ("https://a.b", "?", "https://a.b"),
        ("https://a.b", "?q", "https://a.b"),
        ("https://a.b", "?q=1&ref=c&%71=2&r%65f&&=3", "https://a.b"),
        ("https://a.b/?q=1&ref=c", "?q=2&ref=d&a=1", "https://a.b/?q=1&ref=c&a=1"),
        ("https://a.b", "?a=1", "https://a.b?a=1"),
        ("https://a.b/c#d?e", "?a=1&utm_source=x", "https://a.b/c?a=1&utm_source=x#d?e"),
        ("https://a.b/?#", "?a", "https://a.b/?a#"),
        ("https://a.b/?c&", "?a=", "https://a.b/?c&a="),
        ("https://a.b/?a=1", "?a=2&b=1&b=2&b=1", "https://a.b/?a=1&b=1&b=2&b=1"),
        ("https://a.b/?%61+b=1", "?a%20b=2&A+b=3", "https://a.b/?%61+b=1&A+b=3"),
        ("https://a.b", "?\u00e4='<\ud83d>\"&a=%zz%2", "https://a.b?%C3%A4=%27%3C%EF%BF%BD%3E%22&a=%zz%2"),
        ("https://a.b", "?a=[]{}|\\^`~%2B+", "https://a.b?a=[]{}|\\^`~%2B+"),
        ("https://a.b", f"?a={'x' * 7_986}", f"https://a.b?a={'x' * 7_986}"),
        ("https://a.b", f"?a={'x' * 7_987}&b&c={'y' * 7_985}", "https://a.b?b"),
        ("https://a.b#d", "?a=" + "\u00e4" * 1_400 + "&b=1", "https://a.b?b=1#d"),
    ],
)
def test_query_is_merged_as_by_the_worker(target: str, search: str, url: str):
    link = replace(link_of(()), url=target, forward_query=True)
    click = Click("DE", "", search, "GET")
    assert EXPLAINER.explain(link, click).url == url
    assert_same_as_worker([(link, click)])


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("header", "rule"),
    [
        ("", None),
        ("*", None),
        ("fr,de;q=0.9", None),  # the visitor prefers French to German, and rules name both languages
        ("sv,de;q=0.9", None),  # no rule names the preferred language
        ("de-AT", 0),
        ("de;q=0.5,pt-BR", 1),
        ("pt-PT,de;q=0.5", None),
        ("de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7", 0),
        ("en,de-DE;q=0.9,de;q=0.8", None),
        ("de;q=0,pt-br;q=0.1", 1),
        ("*,de;q=0.5", None),  # `*` means any other language, which the visitor prefers to German
        ("*;q=0.1,de;q=0.5", 0),
        ("de;q=0", None),
        ("DEU", None),
    ],
)
def test_rule_applies_to_visitors_who_prefer_its_language(header: str, rule: int | None):
    rules = (
        Rule("https://example.com/de", languages=("de",)),
        Rule("https://example.com/br", languages=("pt-br",)),
        Rule("https://example.com/fr", languages=("fr",), countries=("CH",)),
    )
    click = Click("DE", "", "", "GET", header)
    assert EXPLAINER.explain(link_of(rules), click).rule == rule
    assert_same_as_worker([(link_of(rules), click)])


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
    assert Click.from_request("DE", "  \tcurl/8\t", "a", "HEAD", " de ") == Click("DE", "curl/8", "?a", "HEAD", "de")


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
