"""Creates email reports from their stored content, in the recipient's language.

`actors/service/mailings.py` writes the content. `report_page.py` turns a report into HTML.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from svc.clock import day_number, day_text
from svc.mail.messages import WORDS, Email, shown_text
from svc.mail.report_page import Bar, Content, Row, Section, report_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc.mail.messages import Service
    from svc.mail.words import Words
    from svc.model import Language

_MAX_NAME = 100
# Paths and other keys are cut to this number of characters. Most of them are recognizable by their beginning.
_MAX_KEY = 80
_MAX_NOTE = 500
_WEEK = 7
# The facts of a note that are dates.
_DAYS = ("since", "until")


@dataclass(frozen=True)
class Addressee:
    """The recipient of a report: the address, the language, the URL of the recipient's page, and the id of the email.

    `report_url`: the page with the report; None if the recipient cannot open the page.
    """

    address: str
    language: Language
    unsubscribe_url: str
    report_url: str | None
    mail_id: str = ""


def report_email(facts: Mapping[str, Any], to: Addressee, service: Service) -> Email:
    """Create the email with a report. `facts`: the stored content."""
    words = WORDS[to.language]
    content = _content(words, facts, to, service)
    return Email(
        to.address,
        words.report.subject.format(title=content.title, views=words.number(facts["total"]["views"])),
        _plain(content),
        id=to.mail_id,
        language=to.language,
        page=report_page(content),
        unsubscribe_url=f"{to.unsubscribe_url}/unsubscribe",
    )


def _content(words: Words, facts: Mapping[str, Any], to: Addressee, service: Service) -> Content:
    texts, name = words.report, shown_text(facts["name"], _MAX_NAME)
    first, last = facts["first"], facts["last"]
    return Content(
        title=texts.titles[facts["kind"]].format(name=name),
        span=texts.span.format(first=words.day(first), last=words.day(last)),
        figures=tuple(_figure(words, facts["total"], label, key) for label, key in _counts(words)),
        chart=texts.chart,
        bars=tuple(_bars(words, first, facts["days"])),
        sections=tuple(one for one in _sections(words, facts) if one.rows or one.text),
        remarks=tuple(_remarks(words, facts)),
        link=None if to.report_url is None else (texts.open, to.report_url),
        why=texts.why.format(address=to.address, name=name, service_url=service.url),
        unsubscribe=(texts.unsubscribe, to.unsubscribe_url),
    )


def _counts(words: Words) -> tuple[tuple[str, str], ...]:
    texts = words.report
    return (texts.views, "views"), (texts.visitors, "visitors"), (texts.bots, "bots")


def _figure(words: Words, entry: Mapping[str, Any], label: str, key: str) -> Row:
    before = entry["before"]
    return Row(label, words.number(entry[key]), _change(words, entry[key], None if before is None else before[key]))


def _change(words: Words, now: int, before: int | None) -> str:
    texts = words.report
    if not before:
        return texts.no_before
    part = words.number(round(100 * abs(now - before) / before))
    if part == "0":
        return texts.same
    template = texts.more if now > before else texts.less
    return template.format(part=part, before=words.number(before))


def _bars(words: Words, first: int, days: Sequence[int]) -> Iterable[Bar]:
    """Return a bar for each day. For a week, the labels are weekdays. For a month, every seventh day has a label."""
    most = max([*days, 1])
    for number, views in enumerate(days):
        day = date.fromisoformat(day_text(first + number))
        weekday = words.report.weekdays[day.weekday()]
        short = len(days) <= _WEEK
        label = weekday if short else (str(day.day) if number % _WEEK == 0 else "")
        yield Bar(label, f"{weekday}, {words.day(first + number)}", words.number(views), views / most)


def _sections(words: Words, facts: Mapping[str, Any]) -> Iterable[Section]:
    texts = words.report
    more = facts.get("more_sites", 0)
    yield Section(
        texts.sites,
        [_row(words, one) for one in facts.get("sites", ())],
        texts.more_sites.format(n=words.number(more)) if more > 0 else "",
    )
    lists = facts.get("lists") or {}
    yield Section(texts.pages, _listed(words, lists.get("pages", ()), texts.names))
    yield Section(texts.sources, _listed(words, lists.get("sources", ()), texts.names))
    yield Section(texts.links, [_row(words, one) for one in facts.get("links", ())])
    yield Section(texts.bot_reasons, _listed(words, lists.get("bots", ()), {**texts.names, **texts.reasons}))
    notes = [Row(words.day(one["day"]), "", _note(words, one)) for one in facts.get("notes", ())]
    yield Section(texts.notes, notes, texts.more_notes if facts.get("more_notes") else "")


def _row(words: Words, entry: Mapping[str, Any]) -> Row:
    """Return the name of a site or link, its views, and the change."""
    before = entry["before"]
    change = _change(words, entry["views"], None if before is None else before["views"])
    return Row(shown_text(entry["name"], _MAX_NAME), words.number(entry["views"]), change)


def _listed(words: Words, entries: Iterable[Sequence[Any]], names: Mapping[str, str]) -> list[Row]:
    return [Row(names.get(key) or shown_text(key, _MAX_KEY), words.number(n)) for key, n in entries]


def _note(words: Words, note: Mapping[str, Any]) -> str:
    if note["kind"] is None:
        return shown_text(note["text"], _MAX_NOTE)
    template = words.report.note_texts.get(note["kind"])
    if template is None:  # another version of the service wrote the note
        return shown_text(note["kind"], _MAX_NAME)
    facts = {
        name: words.day(day_number(value)) if name in _DAYS else shown_text(value, _MAX_NAME)
        for name, value in note["facts"].items()
    }
    return template.fill(facts)


def _remarks(words: Words, facts: Mapping[str, Any]) -> Iterable[str]:
    texts, missing = words.report, facts.get("missing_days", 0)
    if missing == 0:
        yield texts.complete
    else:
        yield texts.missing_day if missing == 1 else texts.missing_days.format(n=words.number(missing))
    if "agrees" in facts:
        yield (texts.agrees if facts["agrees"] else texts.differs).format(day=words.day(facts["last"]))
    if "listed_from" in facts:
        yield texts.listed_from.format(day=words.day(facts["listed_from"]))
    if "unavailable" in facts:
        yield texts.no_lists


def _plain(content: Content) -> str:
    figures = "\n".join(f"{one.name}: {one.value} ({one.detail})" for one in content.figures)
    bars = "\n".join([f"{content.chart}:", *(f"- {one.name}: {one.value}" for one in content.bars)])
    sections = [
        "\n".join([f"{one.heading}:", *map(_line, one.rows), *filter(None, [one.text])]) for one in content.sections
    ]
    link = [] if content.link is None else [f"{content.link[0]}:\n\n{content.link[1]}"]
    parts = [f"{content.title}\n{content.span}", figures, bars, *sections, *content.remarks, *link, content.why]
    return "\n\n".join([*parts, content.unsubscribe[1]])


def _line(row: Row) -> str:
    detail = f"({row.detail})" if row.value and row.detail else row.detail
    return f"- {row.name}: {' '.join(filter(None, [row.value, detail]))}"
