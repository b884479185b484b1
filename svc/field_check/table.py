"""The questions of a field check: each with what the emulated platform answers, in one of its moods, and what came."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """`decides`: what of the service rests on it. `known`: the emulated platform's answers, its usual one first."""

    asked: str
    decides: str
    known: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A question with what the platform answered."""

    question: Question
    answer: str
    detail: str = ""

    @property
    def fits(self) -> bool:
        """Whether the service is built for this answer."""
        return self.answer in self.question.known


# By the numbers under which they are reported; "job" is the main job.
QUESTIONS: dict[str, Question] = {
    "0.1": Question(
        "May a token with nothing but Account API Tokens Write make the working token?",
        "the whole connect",
        ("with all rights", "with fewer rights", "refused 400/1001"),
    ),
    "0.2": Question(
        "The list of permission groups: does it tell is_selectable, does it come in pages?",
        "how a missing right is named",
        (
            "no is_selectable, in pages",
            "no is_selectable, all at once",
            "is_selectable, in pages",
            "is_selectable, all at once",
        ),
    ),
    "0.3": Question(
        "Has the account a workers.dev subdomain, or how is a missing one told?",
        "the install of a new account",
        ("there is one", "none, refused 404/10007"),
    ),
    "0.4": Question(
        "Does the list of workers tell an etag, and does it stay while the worker's code does?",
        "whether a worker of ours is taken for another's",
        ("told, and stays",),
    ),
    "0.5 right": Question(
        "How is D1 refused to a token without the right?",
        "what a lost right is taken for",
        ("refused 403/7403", "refused 403/10000"),
    ),
    "0.5 age": Question(
        "How long is a new token refused?",
        "the patience of a connect and an install",
        ("it works within a minute",),
    ),
    "0.6": Question(
        "A batch whose second statement fails: is the first undone?",
        "the order in which configuration is written",
        ("undone",),
    ),
    "0.7": Question(
        "How are the routes of a zone refused that is not the account's?",
        "how a zone that left is known",
        ("refused 403/10000", "refused 403/9109", "refused 404/7003", "refused 400/1003"),
    ),
    "0.8": Question(
        "Is a route's request_limit_fail_open kept and told?",
        "what a link host shows past the day's requests",
        ("kept", "not told"),
    ),
    "0.9": Question(
        "A D1 write past the day's rows: status, code, and does the text say so?",
        "whether a sync waits for midnight",
        ("refused 400/7500, known by its text",),
    ),
    "0.10": Question(
        "Do the analytics tell requests, rows and sizes of 28 days, with the intervals of their estimates?",
        "the advice",
        ("told, with intervals",),
    ),
    "job token": Question("Does the working token have the rights that were asked for?", "the connect", ("yes",)),
    "job worker": Question("Database, worker, cron, workers.dev closed?", "the install", ("yes",)),
    "job route": Question("Is a route made and listed?", "sites and links", ("yes",)),
    "job view": Question("Is a view taken by the worker?", "counting", ("yes",)),
    "job report": Question("Is the view in a report read from the database?", "reports", ("yes",)),
    "job removal": Question("Is everything removed?", "the disconnect", ("yes",)),
}


def printed(rows: dict[str, Row], not_asked: dict[str, str]) -> list[str]:
    """The table as lines of text. `not_asked`: why, by number."""
    lines = ["", "What the platform answered", ""]
    for number, question in QUESTIONS.items():
        row = rows.get(number)
        if row is None:
            lines += [
                f"  --    {number:<11} {question.asked}",
                f"        not asked: {not_asked.get(number, 'not reached')}",
            ]
            continue
        lines.append(f"  {'fits ' if row.fits else 'OTHER'} {number:<11} {question.asked}")
        lines.append(f"        answered: {row.answer}{f' ({row.detail})' if row.detail else ''}")
        if not row.fits:
            lines += [f"        emulated: {', or '.join(question.known)}", f"        decides:  {question.decides}"]
    return lines
