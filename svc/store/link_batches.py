"""Changes and deletions of many links in one transaction.

The links are selected by their ids or by a filter. The transaction first locks the accounts of the selected links in
the order of their ids, and then reads the links again, so that no request creates, changes or deletes them in between.

All selected links are in memory at the same time. The rules and variants of one link can take up 60 kB. The total size
of all rules and variants is therefore limited, and they are read only if the change affects the Worker's configuration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from svc.errors import Invalid, Issue, NotFound, ServiceError
from svc.model import MAX_LINK_IDS, MAX_LINKS_SELECTED
from svc.model.link_texts import MAX_TAGS
from svc.store.disabled_objects import check_enabled
from svc.store.links import link_fault, links_of, store_changes, store_deletions
from svc.store.locks import lock_accounts
from svc.store.tx import UNCHANGED, Row, Tx, sql, to_json
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from svc.model import Link, LinkChange
    from svc.store.link_lists import LinkFilter
    from svc.store.tx import Parameter

# The maximum total size of the rules and variants that one request reads, and of those that it writes, in characters of
# JSON. If a filter selects the maximum number of links, this is an average of 1,600 characters per link.
MAX_RULES_CHARS = 16_000_000
_COLUMNS = (
    "t.id, t.account_id, t.user_id, t.code, t.url, t.state, t.version, t.created_at, t.config_error, t.live_at,"
    " t.disabled_at, t.disabled_reason, t.title, t.note, t.tags, t.deleted_at, t.forward_query, t.starts_at, t.ends_at,"
    " t.after_url"
)
_WITH_RULES = f"{_COLUMNS}, t.rules, t.split"
_WITHOUT_RULES = f"{_COLUMNS}, '[]' as rules, '' as split"
_TEXTS = frozenset(("title", "note", "tags"))


@dataclass(frozen=True)
class Selection:
    """The links to change: those that match the filter and, if `ids` is not None, have one of these ids."""

    which: LinkFilter
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True)
class BatchChange:
    """A change to many links. For each link, the fields are set first, then tags are removed, then tags are added."""

    fields: LinkChange
    add_tags: Collection[str] = ()
    remove_tags: Collection[str] = ()

    @property
    def concerns_worker(self) -> bool:
        """True if the change sets fields that are part of the Worker's configuration."""
        return not _TEXTS.issuperset(self.fields)

    @property
    def rules_chars(self) -> int:
        """The size of the new rules and variants, which each changed link stores."""
        rules = [rule.fields() for rule in self.fields.get("rules", ())]
        return sum(len(to_json(each) or "") for each in (rules, self.fields.get("split")) if each)

    def apply_to(self, link: Link) -> Link:
        """Return the changed link. Raises Invalid if it would have too many tags."""
        changed = replace(link, **self.fields)
        tags = {*changed.tags} - {*self.remove_tags} | {*self.add_tags}
        if len(tags) > MAX_TAGS:
            raise Invalid([Issue("add_tags", f"the link must have at most {MAX_TAGS} tags", "too_many", MAX_TAGS)])
        return replace(changed, tags=tuple(sorted(tags)))


@dataclass(frozen=True)
class Outcome:
    """The result for a selected link. `link`: None if there is no such link. `error`: why the link was not changed.

    `link` lacks its rules and variants unless the change affects the Worker's configuration.
    """

    link_id: str
    link: Link | None
    changed: bool = False
    error: ServiceError | None = None


@dataclass(frozen=True)
class Batch:
    """The results in the order of the selection's ids, or in order of creation if the selection has no ids.

    `edge_accounts`: Cloudflare ids by account id.
    """

    outcomes: Sequence[Outcome]
    edge_accounts: Mapping[str, str] = field(default_factory=dict)

    def changes(self) -> Counter[str]:
        """Return the number of changed links by account id."""
        return Counter(each.link.account_id for each in self.outcomes if each.link is not None and each.changed)


def change_links(selection: Selection, change: BatchChange, *, dry_run: bool = False) -> Tx[Batch]:
    """Change the selected links. If `dry_run` is True, only determine which links would be changed.

    The outcome has an error if the operator has disabled the link, if the link would have too many tags, if one of its
    destinations would be on the link host, or if its period would end before it starts. Such a link is not changed.
    Raises Invalid if the filter selects too many links. Also raises Invalid if the rules and variants of the selected
    links, or the new rules and variants of these links, are too large in total.
    """
    selected, edge_accounts = yield from _selected(selection, change)
    hosts = yield sql("select account_id, host from link_hosts where account_id = any($1)", tuple(edge_accounts))
    host_of = {row["account_id"]: row["host"] for row in hosts}
    outcomes = [_changed(link, change, host_of.get(link.account_id)) for link in selected]
    changed = [(link, each.link) for link, each in zip(selected, outcomes, strict=True) if each.link and each.changed]
    if dry_run or not changed:
        yield UNCHANGED
    else:
        texts = [after for before, after in changed if after.redirects_like(before)]
        others = [after for before, after in changed if not after.redirects_like(before)]
        versions = yield from _bumped(others)
        others = [replace(link, version=versions[link.account_id], config_error=None) for link in others]
        yield from store_changes(others, texts)
    return Batch(_in_order(selection, outcomes), edge_accounts)


def delete_links(selection: Selection, now: int, *, dry_run: bool = False) -> Tx[Batch]:
    """Delete the selected links. If `dry_run` is True, only determine which links would be deleted.

    `now`: epoch ms. Raises Invalid if the filter selects too many links.
    """
    selected, edge_accounts = yield from _selected(selection, BatchChange({}))
    if dry_run or not selected:
        yield UNCHANGED
    else:
        versions = yield from _bumped(selected)
        yield from store_deletions([(link.id, versions[link.account_id]) for link in selected], now)
    outcomes = [Outcome(link.id, link, changed=True) for link in selected]
    return Batch(_in_order(selection, outcomes), edge_accounts)


def _selected(selection: Selection, change: BatchChange) -> Tx[tuple[list[Link], dict[str, str]]]:
    """Lock the accounts of the selected links. Return the links, and the Cloudflare id of each account.

    The links lack their rules and variants unless the change affects the Worker's configuration.
    """
    rows = yield from _rows(selection, "distinct t.account_id", "t.account_id")
    account_ids = tuple(row["account_id"] for row in rows)
    yield from lock_accounts(account_ids)
    accounts = yield sql("select id, edge_account_id from accounts where id = any($1)", account_ids)
    yield from _check_size(selection, change, account_ids)
    columns = _WITH_RULES if change.concerns_worker else _WITHOUT_RULES
    rows = yield from _rows(selection, columns, "t.created_at, t.id", account_ids)
    return links_of(rows), {row["id"]: row["edge_account_id"] for row in accounts}


def _check_size(selection: Selection, change: BatchChange, account_ids: tuple[str, ...]) -> Tx[None]:
    """Raise Invalid if too many links are selected, or if the rules and variants to read or write are too large."""
    chars = "0"
    if change.concerns_worker:
        chars = "cast(coalesce(sum(length(t.rules) + length(coalesce(t.split, ''))), 0) as bigint)"
    [selected] = yield from _rows(selection, f"count(*) as links, {chars} as chars", "1", account_ids)
    path = "filter" if selection.ids is None else "ids"
    most, of_size = MAX_LINKS_SELECTED, ""
    if change.rules_chars > MAX_RULES_CHARS // MAX_LINKS_SELECTED:
        most, of_size = MAX_RULES_CHARS // change.rules_chars, " for rules and variants of this size"
    if selected["links"] > most:
        raise Invalid([Issue(path, f"must select at most {most:,} links{of_size}", "too_many", most)])
    if selected["chars"] > MAX_RULES_CHARS:
        message = "selects links whose rules and variants are too large in total; select fewer links"
        raise Invalid([Issue(path, message, "too_much")])


def _rows(
    selection: Selection, columns: str, order: str, account_ids: tuple[str, ...] | None = None
) -> Tx[Sequence[Row]]:
    parameters: list[Parameter] = []
    conditions = selection.which.conditions(parameters)
    source = "links"
    if selection.ids is not None:
        parameters.append(selection.ids)
        # With the limit, SQLite reads only these links. Without it, SQLite would read all of the user's links.
        source = f"(select * from links where id = any(${len(parameters)}) limit {MAX_LINK_IDS})"  # noqa: S608  # names of this file and placeholders
    if account_ids is not None:
        parameters.append(account_ids)
        conditions += f" and t.account_id = any(${len(parameters)})"
    rows = yield sql(
        f"select {columns} from {source} t where {conditions} order by {order} limit {MAX_LINKS_SELECTED}",  # noqa: S608  # as above
        *parameters,
    )
    return rows


def _changed(link: Link, change: BatchChange, link_host: str | None) -> Outcome:
    try:
        check_enabled(link)
        changed = change.apply_to(link)
        fault = link_fault(changed, link_host) if change.concerns_worker else None
    except ServiceError as error:
        return Outcome(link.id, link, error=error)
    return Outcome(link.id, link, error=fault) if fault else Outcome(link.id, changed, changed=changed != link)


def _bumped(links: Sequence[Link]) -> Tx[dict[str, int]]:
    """Increment the configuration version of each account of these links. Return the new versions by account id."""
    versions: dict[str, int] = {}
    for account_id in sorted({link.account_id for link in links}):
        versions[account_id] = yield from bump_version(account_id)
    return versions


def _in_order(selection: Selection, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    if selection.ids is None:
        return outcomes
    by_id = {each.link_id: each for each in outcomes}
    return [by_id.get(link_id) or Outcome(link_id, None, error=NotFound()) for link_id in selection.ids]
