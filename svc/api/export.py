"""/v1/export: everything of a user in one ZIP file: the endpoint, and what is in each file."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from svc import model
from svc.api.endpoint import Endpoint
from svc.api.fields import Moment
from svc.api.links import Rule
from svc.api.shape import Answer, may_be_absent
from svc.model import AccountState, EdgePlan, LinkState, Location, Plan, SiteState

if TYPE_CHECKING:
    from collections.abc import Iterable

ZIP_TYPE = "application/zip"

EXPORT = Endpoint(
    method="GET",
    path="/v1/export",
    tag="me",
    summary="Everything that is yours, in one ZIP file",
    description="An addition. Accounts, sites, links and all totals, deleted and disconnected ones included, and the"
    " events of a year, as JSON and CSV; README.txt in it tells what is where. It is sent while it is made: one that"
    " breaks off is not complete. Page session, or an API key with all scopes that is not limited to some accounts.",
    answer=None,
    media_types=(ZIP_TYPE,),
    codes=("scope_required",),
)

ENDPOINTS = (EXPORT,)


class User(Answer):
    """user.json. `exported_at`: what was made later is not in the file."""

    id: int
    email: str
    email_confirmed: bool
    email_refused_at: Moment | None
    plan: Plan
    notify: bool
    created_at: Moment
    exported_at: Moment

    @classmethod
    def of(cls, user: model.User, exported_at: int) -> User:
        """The user, at that time (epoch ms)."""
        return cls(**vars(user), exported_at=exported_at)


class Account(Answer):
    """One of accounts.json. `plan` is the edge platform's. A disconnected one has `disconnected_at` and no `state`."""

    id: str
    edge_account_id: str
    name: str
    plan: EdgePlan | None = may_be_absent()
    days_kept: int | None = may_be_absent()
    state: AccountState | None = may_be_absent()
    location: Location | None = may_be_absent()
    link_host: str | None = may_be_absent()
    created_at: Moment | None = may_be_absent()
    disconnected_at: Moment | None = may_be_absent()

    @classmethod
    def of(cls, account: model.Account | model.FormerAccount) -> Account:
        """An account, or what is left of one. Nothing of its token."""
        if isinstance(account, model.FormerAccount):
            return cls(
                id=account.id,
                edge_account_id=account.edge_account_id,
                name=account.name,
                disconnected_at=account.disconnected_at,
            )
        return cls(
            id=account.id,
            edge_account_id=account.edge_account_id,
            name=account.name,
            plan=account.plan,
            days_kept=account.days_kept.days,
            state=account.state,
            location=account.location,
            link_host=None if account.link_host is None else account.link_host.host,
            created_at=account.created_at,
        )


class Site(Answer):
    """One of sites.json; the fields are the columns of sites.csv, where lists are JSON."""

    id: str
    account_id: str
    edge_account_id: str
    host: str
    state: SiteState
    excluded_paths: tuple[str, ...]
    respect_gpc: bool
    path: str
    created_at: Moment
    first_view_at: Moment | None

    @classmethod
    def of(cls, site: model.Site, edge_account_id: str) -> Site:
        """A site of an account at the edge platform."""
        return cls(
            id=site.id,
            account_id=site.account_id,
            edge_account_id=edge_account_id,
            host=site.host,
            state=site.state,
            excluded_paths=site.excluded_paths,
            respect_gpc=site.respect_gpc,
            path=site.path,
            created_at=site.created_at,
            first_view_at=site.first_view_at,
        )


class Link(Answer):
    """One of links.json; the fields are the columns of links.csv, where lists are JSON."""

    id: str
    account_id: str
    edge_account_id: str
    code: str
    url: str
    rules: tuple[Rule, ...]
    state: LinkState
    created_at: Moment

    @classmethod
    def of(cls, link: model.Link, edge_account_id: str) -> Link:
        """A link of an account at the edge platform."""
        return cls(
            id=link.id,
            account_id=link.account_id,
            edge_account_id=edge_account_id,
            code=link.code,
            url=link.url,
            rules=tuple(Rule.model_validate(rule) for rule in link.rules),
            state=link.state,
            created_at=link.created_at,
        )


DAILY_COLUMNS = ("target", "kind", "edge_account_id", "name", "day", "views", "bots", "visitors", "final", "imported")
HOURLY_COLUMNS = ("target", "kind", "edge_account_id", "name", "at", "views", "bots", "visitors")


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Rows as RFC 4180 has them.

    Texts stay as they are, so that they can be imported again: nothing is put before what a spreadsheet might take
    for a formula. No cell of an export begins with =, + or @. A code may begin with -, and has no sign that could call
    or fetch anything.
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def cells_of(row: Answer) -> list[object]:
    """An object's fields as cells, in their order: lists as JSON, true and false as these words, null as nothing."""
    values = row.model_dump(mode="json").values()
    return [json.dumps(value) if isinstance(value, (bool, list)) else value for value in values]


README = """\
This is everything that {email} has in this service, as of {exported_at}:
accounts, sites, links and totals, also of what is deleted or disconnected. Sites,
links and accounts that were made later are not in it; counts that arrived while it
was made may be. Ids join the files.

All times are in UTC, and so are days: they end at midnight UTC. Texts are UTF-8. Each
.csv file has the names of its columns in its first line, commas between its cells,
and quotes where they are needed (RFC 4180).

user.json          Who you are here, and when the export was made (exported_at).
accounts.json      Accounts at the edge platform; edge_account_id is the id there, plan its
                   plan there, days_kept how many days its worker keeps breakdowns. One with
                   disconnected_at was disconnected then.
sites.json         Sites: the host, what is not counted (excluded_paths, respect_gpc),
                   the path of the snippet. One whose state is "deleted" counts no more.
sites.csv          The same as a table; excluded_paths is a JSON list in its cell.
links.json         Short links: code, address (url), rules. One whose state is "deleted"
                   is redirected no more; its code may be another's.
links.csv          The same as a table; rules is a JSON list in its cell.
daily_totals.csv   What was counted: a line for each site or link and day. target is the
                   id, kind says whether it is a site or a link, name is the host or the
                   code. views and visitors are people's, bots is everything else;
                   visitors are each day's unique ones. A day without a line had no
                   views. final is 0 where the numbers of a day may still grow. imported
                   is 1 where another product had counted.
hourly_totals.csv  The same by hour; `at` is its begin. Hours are kept for some weeks.
events.csv         What was changed within the last year, the oldest first: when (at), by whom
                   (via), from which address (ip), what (action, target, count), and how
                   it went (outcome).

Not in it: passwords, API keys, tokens of the edge platform (make them anew), and
breakdowns (top pages, sources, countries ...): these are in your own database at the
edge platform.

To bring it into another installation of the service, whose operator has the commands:

1. Connect the account at the edge platform, and set its link host (accounts.json).
2. Add the sites of sites.json that are not deleted: POST /v1/sites with host,
   excluded_paths and respect_gpc. Each gets a new snippet, for the place of the old one.
3. Links: svc import links links.csv --user you@example.com --apply
   It takes the links of this edge account that are not deleted, with their rules; those
   of another one with --of and its edge_account_id.
4. Totals: svc import totals daily_totals.csv --user you@example.com --apply
   It takes the days before the one on which a site or link was made there.
"""
