"""The questions of a field check, the answers that the emulator can give, and Cloudflare's answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question about Cloudflare.

    `decides`: what depends on the answer. `known`: the expected answers, which the emulator can also give.
    """

    asked: str
    decides: str
    known: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A question with Cloudflare's answer."""

    question: Question
    response: str
    detail: str = ""

    @property
    def fits(self) -> bool:
        """True if the service can handle this answer."""
        return self.response in self.question.known


# The questions by number. "job" marks the steps of the main workflow.
QUESTIONS: dict[str, Question] = {
    "0.1": Question(
        "Can a token with only Account API Tokens Write create the working token?",
        "connecting an account",
        ("with all permissions", "with fewer permissions", "refused 400/1001"),
    ),
    "0.2": Question(
        "Does the list of permission groups have is_selectable, and is it paginated?",
        "the names of missing permissions",
        (
            "no is_selectable, paginated",
            "no is_selectable, not paginated",
            "is_selectable, paginated",
            "is_selectable, not paginated",
        ),
    ),
    "0.3": Question(
        "Does the account have a workers.dev subdomain? If not, how does Cloudflare report this?",
        "installing in a new account",
        ("exists", "none, refused 404/10007"),
    ),
    "0.4": Question(
        "Does the list of Workers have an etag that changes only with the code?",
        "recognizing our own Worker",
        ("reported and stable",),
    ),
    "0.5 permission": Question(
        "How does Cloudflare refuse access to D1 if the token does not have the permission?",
        "detecting a lost permission",
        ("refused 403/7403", "refused 403/10000"),
    ),
    "0.5 age": Question(
        "How soon does a new token work?",
        "the timeouts of connecting and installing",
        ("within a minute",),
    ),
    "0.6": Question(
        "Does D1 roll back the first statement of a batch if the second statement fails?",
        "the order in which configuration is written",
        ("rolled back",),
    ),
    "0.7": Question(
        "How does Cloudflare refuse access to the routes of another account's zone?",
        "detecting a zone that was removed from the account",
        ("refused 403/10000", "refused 403/9109", "refused 404/7003", "refused 400/1003"),
    ),
    "0.8": Question(
        "Does Cloudflare store and report the field request_limit_fail_open of a route?",
        "what a link host shows beyond the daily request limit",
        ("kept", "not reported"),
    ),
    "0.9": Question(
        "How does D1 refuse a write beyond the daily row limit?",
        "whether a sync waits until midnight",
        ("refused 400/7500, recognized by its message",),
    ),
    "0.10": Question(
        "Do the analytics have requests, rows and sizes for 28 days, with confidence intervals?",
        "the advice on the plan",
        ("reported with intervals",),
    ),
    "0.11": Question(
        "Can the working token read the last 26 weeks of Web Analytics?",
        "the import of page views from Web Analytics",
        ("readable",),
    ),
    "0.12": Question(
        "Can the working token read its own expiry?",
        "the warning before the token expires",
        ("readable",),
    ),
    "job token": Question("Does the working token have the requested permissions?", "connecting", ("yes",)),
    "job worker": Question(
        "Are database, Worker and cron trigger created, and workers.dev disabled?", "installing", ("yes",)
    ),
    "job route": Question("Are routes created and listed?", "sites and links", ("yes",)),
    "job view": Question("Does the Worker count a page view?", "counting", ("yes",)),
    "job report": Question("Does a report from the database include the page view?", "reports", ("yes",)),
    "job removal": Question("Are all resources removed?", "disconnecting", ("yes",)),
}


def format_table(rows: dict[str, Row], skipped: dict[str, str]) -> list[str]:
    """Format the table as lines of text. `skipped`: by number, the reason why a question was skipped."""
    lines = ["", "Cloudflare's answers", ""]
    for number, question in QUESTIONS.items():
        row = rows.get(number)
        if row is None:
            lines += [
                f"  --    {number:<14} {question.asked}",
                f"        skipped: {skipped.get(number, 'not reached')}",
            ]
            continue
        lines.append(f"  {'fits ' if row.fits else 'OTHER'} {number:<14} {question.asked}")
        lines.append(f"        answered: {row.response}{f' ({row.detail})' if row.detail else ''}")
        if not row.fits:
            lines += [f"        expected: {', or '.join(question.known)}", f"        affects:  {question.decides}"]
    return lines
