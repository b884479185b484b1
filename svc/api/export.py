"""/v1/export, which exports all of a user's data as one ZIP file: the endpoint, and the format of each file."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from svc import model
from svc.api.endpoint import Endpoint
from svc.api.fields import Day, Moment, MonthsKept
from svc.api.link_options import Variant
from svc.api.link_rules import Rule
from svc.api.links import BrokenTarget, settings_of
from svc.api.mailings import Mailings as ShownMailings
from svc.api.mailings import Recipient
from svc.api.notes import text_of
from svc.api.shape import ResponseBody, optional_field
from svc.model import AccountState, EdgePlan, Language, LinkState, Location, Plan, ReportPeriod, SiteState

if TYPE_CHECKING:
    from collections.abc import Iterable

ZIP_TYPE = "application/zip"

EXPORT = Endpoint(
    method="GET",
    path="/v1/export",
    tag="me",
    addition=True,
    summary="Export all your data as a ZIP file",
    description="The ZIP file contains your accounts, sites, links, notes, shares, email reports, all totals, and one"
    " year of events, as JSON and CSV. It includes disconnected accounts and deleted sites and links. README.txt"
    " describes the other files. If an error occurs while the service streams the ZIP file, the connection"
    " closes early. The request requires a sign-in session, or an API key with all scopes that is not limited to"
    " specific accounts. A user can request ten exports per hour.",
    response=None,
    media_types=(ZIP_TYPE,),
    codes=("scope_required",),
)

ENDPOINTS = (EXPORT,)


class User(ResponseBody):
    """The content of user.json. Objects created after `exported_at` are not in the export."""

    id: int
    email: str
    email_confirmed: bool
    email_refused_at: Moment | None
    plan: Plan
    notify: bool
    language: Language | None
    created_at: Moment
    exported_at: Moment

    @classmethod
    def from_model(cls, user: model.User, exported_at: int) -> User:
        """Return the content of user.json. `exported_at`: the time of the export (epoch ms)."""
        # Omit `disabled_at`: it would always be null, because a disabled user cannot export.
        return cls(
            **{name: value for name, value in vars(user).items() if name != "disabled_at"}, exported_at=exported_at
        )


class Account(ResponseBody):
    """An item of accounts.json. `plan` is the account's Workers plan. Disconnected accounts have no `state`."""

    id: str
    edge_account_id: str
    name: str
    plan: EdgePlan | None = optional_field()
    days_kept: int | None = optional_field()
    months_kept: MonthsKept | None = optional_field()
    state: AccountState | None = optional_field()
    location: Location | None = optional_field()
    link_host: str | None = optional_field()
    root_url: str | None = optional_field("The URL to which the Worker redirects `/` of the link host.")
    not_found_url: str | None = optional_field("The URL to which the Worker redirects requests for unknown codes.")
    created_at: Moment | None = optional_field()
    disconnected_at: Moment | None = optional_field()

    @classmethod
    def from_model(cls, account: model.Account | model.FormerAccount) -> Account:
        """Return the item for a connected or disconnected account, without its token."""
        if isinstance(account, model.FormerAccount):
            return cls(
                id=account.id,
                edge_account_id=account.edge_account_id,
                name=account.name,
                disconnected_at=account.disconnected_at,
            )
        host = account.link_host
        return cls(
            id=account.id,
            edge_account_id=account.edge_account_id,
            name=account.name,
            plan=account.settings.plan,
            days_kept=account.settings.days,
            months_kept=account.settings.months,
            state=account.state,
            location=account.location,
            link_host=None if host is None else host.host,
            root_url=None if host is None else host.root_url,
            not_found_url=None if host is None else host.not_found_url,
            created_at=account.created_at,
        )


class Site(ResponseBody):
    """An item of sites.json. The fields are the columns of sites.csv, where lists are JSON."""

    id: str
    account_id: str
    edge_account_id: str
    host: str
    state: SiteState
    excluded_paths: tuple[str, ...]
    excluded_networks: tuple[str, ...]
    excluded_countries: tuple[str, ...]
    excluded_asns: tuple[int, ...]
    respect_gpc: bool
    visitor_opt_out: bool
    path: str
    created_at: Moment
    first_view_at: Moment | None

    @classmethod
    def from_model(cls, site: model.Site, edge_account_id: str) -> Site:
        """Return the item for a site."""
        return cls(
            id=site.id,
            account_id=site.account_id,
            edge_account_id=edge_account_id,
            host=site.host,
            state=site.state,
            excluded_paths=site.excluded_paths,
            excluded_networks=site.excluded_networks,
            excluded_countries=site.excluded_countries,
            excluded_asns=site.excluded_asns,
            respect_gpc=site.respect_gpc,
            visitor_opt_out=site.visitor_opt_out,
            path=site.path,
            created_at=site.created_at,
            first_view_at=site.first_view_at,
        )


class Link(ResponseBody):
    """An item of links.json. The fields are the columns of links.csv, where lists are JSON."""

    id: str
    account_id: str
    edge_account_id: str
    code: str
    url: str
    rules: tuple[Rule, ...]
    title: str | None
    note: str | None
    tags: tuple[str, ...]
    forward_query: bool
    starts_at: Moment | None
    ends_at: Moment | None
    after_url: str | None
    split: tuple[Variant, ...] | None
    state: LinkState
    created_at: Moment
    broken_targets: tuple[BrokenTarget, ...]

    @classmethod
    def from_model(cls, link: model.Link, edge_account_id: str) -> Link:
        """Return the item for a link."""
        return cls(
            id=link.id,
            account_id=link.account_id,
            edge_account_id=edge_account_id,
            code=link.code,
            state=link.state,
            **settings_of(link),
            created_at=link.created_at,
            broken_targets=tuple(BrokenTarget.model_validate(each) for each in link.broken_targets),
        )


class Note(ResponseBody):
    """An item of notes.json. It has `site_id` or `link_id`, or neither of them if the note is on the account."""

    id: str
    account_id: str
    edge_account_id: str
    site_id: str | None = optional_field()
    link_id: str | None = optional_field()
    day: Day
    text: str
    automatic: bool
    created_at: Moment

    @classmethod
    def from_model(cls, note: model.Note, edge_account_id: str) -> Note:
        """Return the item for a note."""
        return cls(
            id=note.id,
            account_id=note.account_id,
            edge_account_id=edge_account_id,
            site_id=note.target if note.target_kind == "site" else None,
            link_id=note.target if note.target_kind == "link" else None,
            day=note.day,
            text=text_of(note),
            automatic=note.kind is not None,
            created_at=note.created_at,
        )


class Share(ResponseBody):
    """An item of shares.json. It has `site_id` or `link_id`, or neither of them if it is a share of an account."""

    id: str
    account_id: str
    edge_account_id: str
    site_id: str | None = optional_field()
    link_id: str | None = optional_field()
    name: str
    password: bool
    until: Day | None
    periods: tuple[ReportPeriod, ...] | None
    lists: bool
    embed: tuple[str, ...]
    created_at: Moment

    @classmethod
    def from_model(cls, share: model.Share, edge_account_id: str) -> Share:
        """Return the item for a share, without its secret."""
        return cls(
            id=share.id,
            account_id=share.account_id,
            edge_account_id=edge_account_id,
            site_id=share.target if share.target_kind == "site" else None,
            link_id=share.target if share.target_kind == "link" else None,
            name=share.name,
            password=share.password_hash is not None,
            until=share.until,
            periods=share.periods,
            lists=share.lists,
            embed=share.embed,
            created_at=share.created_at,
        )


class Mailings(ResponseBody):
    """An item of mailings.json: the email reports about a site, or about an account if there is no `site_id`."""

    account_id: str
    site_id: str | None = optional_field()
    weekly: bool
    monthly: bool
    alerts: bool
    recipients: tuple[Recipient, ...]
    created_at: Moment

    @classmethod
    def from_model(cls, mailing: model.Mailing) -> Mailings:
        """Return the item for email reports."""
        shown = ShownMailings.from_model(mailing)
        return cls(
            account_id=mailing.account_id,
            site_id=mailing.target if mailing.target_kind == "site" else None,
            weekly=shown.weekly,
            monthly=shown.monthly,
            alerts=shown.alerts,
            recipients=shown.recipients,
            created_at=mailing.created_at,
        )


DAILY_COLUMNS = (
    *("target", "kind", "edge_account_id", "name", "day", "views", "bots", "visitors"),
    *("final", "imported", "estimated"),
)
HOURLY_COLUMNS = ("target", "kind", "edge_account_id", "name", "at", "views", "bots", "visitors")
# A spreadsheet may interpret a cell that begins with one of these characters as a formula. An export inserts an
# apostrophe before titles and notes that begin with one of them. The list includes the apostrophe itself, so that an
# import can distinguish an inserted apostrophe from one that a user wrote.
FORMULA_STARTS = ("=", "+", "-", "@", "'")
_USER_TEXTS = ("title", "note")


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV (RFC 4180).

    Cells are not escaped here, because an import would not accept an escaped link code. No cell in an export begins
    with =, + or @: `cells_of` escapes titles and notes. Link codes can begin with -, but they cannot contain the
    characters that a formula needs to call a function or fetch a URL.
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def cells_of(row: ResponseBody) -> list[object]:
    """Return an object's fields as CSV cells. Lists and booleans become JSON, and null becomes an empty cell.

    A title or note that a spreadsheet could interpret as a formula gets an apostrophe, which the import removes.
    """
    cells: list[object] = []
    for name, value in row.model_dump(mode="json").items():
        if isinstance(value, (bool, list)):
            cells.append(json.dumps(value))
        elif name in _USER_TEXTS and value is not None and value.startswith(FORMULA_STARTS):
            cells.append(f"'{value}")
        else:
            cells.append(value)
    return cells


README = """\
This export contains all data of {email} in this service, as of {exported_at}:
accounts, sites, links and totals, including deleted and disconnected ones. Accounts,
sites and links created later are not included, but counts that arrived during the
export may be. The files refer to each other by id.

All times are in UTC; days end at midnight UTC. Text is in UTF-8. Each .csv file has a
header line, commas between cells, and quotes where needed (RFC 4180).

user.json          Your user data, and the time of the export (exported_at).
accounts.json      Cloudflare accounts. edge_account_id is the id at Cloudflare, plan is the
                   Workers plan. days_kept and months_kept are the numbers of days, and of
                   whole months before the current month, for which the Worker keeps
                   breakdowns. Disconnected accounts have disconnected_at.
sites.json         Sites: host, exclusions (excluded_paths, excluded_networks,
                   excluded_countries, excluded_asns, respect_gpc, visitor_opt_out), and
                   the path of the snippet. Sites with the state "deleted" are no longer counted.
sites.csv          The sites as a table; each list of exclusions is a JSON list in its cell.
links.json         Short links: code, target (url), rules, title, note, tags, split,
                   forward_query, and the period (starts_at, ends_at and after_url). Links
                   with the state "deleted" no longer redirect, and other links may use
                   their codes. broken_targets lists the targets that do not work.
links.csv          The links as a table; each list is a JSON list in its cell. An
                   apostrophe precedes a title or note that begins with =, +, -, @ or an
                   apostrophe, so that spreadsheets do not treat it as a formula.
notes.json         Notes on days. A note with site_id or link_id is on that site or link; any
                   other note is on the whole account. The service wrote the automatic ones.
shares.json        Public pages with your counts: name, settings, and whether the page has a
                   password. A share with site_id or link_id shows that site or link; any
                   other share shows the sites of the whole account.
mailings.json      Email reports and alerts, with their recipients. An item with site_id is
                   about that site; any other item is about all sites of the account.
daily_totals.csv   Counts, with one line per day for each site or link. target is the id,
                   kind is site or link, and name is the host or code. views and visitors
                   count people, and visitors are unique per day. bots counts everything
                   else. A day without a line had no views. final is 0 if the numbers may
                   still grow. imported is 1 if the numbers come from another product, and
                   estimated is 1 if they are estimates.
hourly_totals.csv  Counts per hour. at is the start of the hour. The service keeps hourly
                   counts for a few weeks.
events.csv         The changes of the last year, oldest first: time (at), actor (via), IP
                   address (ip), change (action, target, count) and result (outcome).

Not included: passwords, API keys, Cloudflare tokens and the URLs of shares (create new
ones), and breakdowns (top pages, sources, countries ...), which are in your own database at
Cloudflare.

To import the data into another installation of the service, ask its operator for help:

1. Connect the Cloudflare account, and set its link host (accounts.json).
2. Add the sites in sites.json that are not deleted: POST /v1/sites with host and the
   exclusions. Replace each site's snippet with the new one.
3. Links: svc import links links.csv --user you@example.com --apply
   This imports the links of the same Cloudflare account that are not deleted, with
   their rules, period, split and texts. To import the links of a different account,
   add --of and the edge_account_id of that account.
4. Totals: svc import totals daily_totals.csv --user you@example.com --apply
   This imports the days before the site or link was created in that installation.
"""
