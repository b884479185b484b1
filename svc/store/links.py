"""Transactions on short links."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden, Invalid, Issue, NotFound, ServiceError
from svc.model import Link, Rule, Variant
from svc.model.link_texts import folded
from svc.store.disabled_objects import check_enabled, disabled_codes, disabled_of
from svc.store.locks import lock_account, lock_user
from svc.store.tx import UNCHANGED, Row, Tx, from_json, many, note_from_json, placeholders, sql, to_json
from svc.store.user_limits import limit_of
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from svc.model import Disabled, LinkChange
    from svc.store.tx import Parameter

# The maximum number of codes per statement. Imports have thousands of codes. A constant number of codes lets both
# engines reuse the prepared statement.
CODES_A_STATEMENT = 500
NOT_RESTORABLE = "Links can be restored for 30 days. This link was deleted earlier, or the time is not known."
LINK_DELETED = "The link was deleted. Only the link and its report can still be read."


def add_link(link: Link, default_limit: int) -> Tx[Link]:
    """Add one link; see `add_links`. If the link is rejected, raises the error that `add_links` would return."""
    [added] = yield from add_links([link], default_limit)
    if isinstance(added, ServiceError):
        raise added
    return added


def add_links(batch: Sequence[Link], default_limit: int, *, unstored: int = 0) -> Tx[list[Link | ServiceError]]:
    """Add one or more links to an account, with one new version of the account's configuration.

    Returns, in order, each link as stored or the error that rejects the link:

    - Invalid if a destination is on the link host, which would cause a redirect loop, or if a link would end before it
      starts
    - Forbidden link_disabled if the operator has disabled a link with this code, even if that link was deleted
    - Conflict link_exists if the code is used in the account or earlier in the batch.

    Raises NotFound if there is no such account, or Conflict link_host_required if it has no link host. Raises Forbidden
    limit_reached if the user would have more than the maximum number of links. In these cases, no link is added.

    `default_limit`: the maximum number, unless the operator has set another one for the user. `unstored`: the number of
    further links that also count toward the maximum, although they are not stored.
    """
    account_id, user_id = batch[0].account_id, batch[0].user_id
    yield from lock_user(user_id)
    version = yield from bump_version(account_id)  # locks the account, so that the codes stay free
    hosts = yield sql("select host from link_hosts where account_id = $1", account_id)
    if not hosts:
        raise Conflict("link_host_required")
    link_host = hosts[0]["host"]
    codes = [link.code for link in batch]
    taken = set((yield from used_codes(account_id, codes)))
    disabled = yield from disabled_codes(account_id, codes)
    results: list[Link | ServiceError] = []
    for link in batch:
        refusal = _refusal(link, link_host, taken, disabled)
        results.append(refusal or replace(link, version=version))
        if refusal is None:
            taken.add(link.code)
    yield many(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at, title, title_folded,"
        " note, tags, forward_query, starts_at, ends_at, after_url, split)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        [_row(added) for added in results if isinstance(added, Link)],
    )
    yield from _check_limit(user_id, default_limit, unstored)
    return results


def _refusal(
    link: Link, link_host: str, taken: Collection[str], disabled: Mapping[str, Disabled]
) -> ServiceError | None:
    if fault := link_fault(link, link_host):
        return fault
    if link.code in disabled:
        return Forbidden("link_disabled", details=disabled[link.code].details)
    return Conflict("link_exists") if link.code in taken else None


def link_fault(link: Link, link_host: str | None) -> Invalid | None:
    """Return the error if a destination is on the link host, or if the link would end before it starts."""
    return _redirect_loop(link, link_host) or _wrong_period(link)


def _redirect_loop(link: Link, link_host: str | None) -> Invalid | None:
    """Return the error if a destination of the link is on the link host, which would cause a redirect loop."""
    names = [] if link_host is None else link.targets_on(link_host)
    issues = [Issue(name, "must not be on the link host", "on_link_host") for name in names]
    return Invalid(issues) if issues else None


def _wrong_period(link: Link) -> Invalid | None:
    """Return the error if the link's period ends before it starts."""
    if link.starts_at is None or link.ends_at is None or link.ends_at > link.starts_at:
        return None
    return Invalid([Issue("ends_at", "must be after starts_at", "end_before_start")])


def change_link(account_id: str, link_id: str, change: LinkChange) -> Tx[Link]:
    """Change some fields of a link.

    If the Worker does not use the changed fields, the configuration version stays the same, so that no sync is needed.
    Raises NotFound if the account has no such link or if the link was deleted. Raises Forbidden link_disabled if the
    operator has disabled the link. Raises Invalid if a destination is on the link host, or if the link would end before
    it starts.
    """
    link = yield from _live_link(account_id, link_id)
    check_enabled(link)
    changed = replace(link, **change)
    if changed == link:
        yield UNCHANGED
        return link
    if changed.redirects_like(link):
        yield from store_changes([], [changed])
        return changed
    hosts = yield sql("select host from link_hosts where account_id = $1", account_id)
    if fault := link_fault(changed, hosts[0]["host"] if hosts else None):
        raise fault
    changed = replace(changed, version=(yield from bump_version(account_id)), config_error=None)
    yield from store_changes([changed], [])
    return changed


def store_changes(changed: Sequence[Link], texts_changed: Sequence[Link]) -> Tx[None]:
    """Store changed links. `texts_changed`: links with changes only to the title, the note or the tags."""
    if changed:
        yield many(
            "update links set url = $2, rules = $3, version = $4, config_error = null, title = $5, title_folded = $6,"
            " note = $7, tags = $8, forward_query = $9, starts_at = $10, ends_at = $11, after_url = $12, split = $13"
            " where id = $1",
            [(link.id, link.url, _rules_json(link), link.version, *_texts(link), *_options(link)) for link in changed],
        )
    if texts_changed:
        yield many(
            "update links set title = $2, title_folded = $3, note = $4, tags = $5 where id = $1",
            [(link.id, *_texts(link)) for link in texts_changed],
        )


def delete_link(account_id: str, link_id: str, now: int) -> Tx[Link]:
    """Delete a link. Its row and totals stay. Raises NotFound. `now`: epoch ms.

    The code can be used again immediately, unless the operator has disabled the link.
    """
    link = yield from _live_link(account_id, link_id)
    version = yield from bump_version(account_id)
    yield from store_deletions([(link_id, version)], now)
    return replace(link, state="deleted", version=version, config_error=None, deleted_at=now)


def store_deletions(versions: Sequence[tuple[str, int]], now: int) -> Tx[None]:
    """Mark links as deleted. `versions`: pairs of a link's id and the configuration version of its deletion."""
    yield many(
        "update links set state = 'deleted', config_error = null, version = $2, deleted_at = $3 where id = $1",
        [(*each, now) for each in versions],
    )


def restore_link(user_id: int, account_id: str, link_id: str, now: int, default_limit: int) -> Tx[Link]:
    """Restore a deleted link of the user with its code, texts and totals. Does nothing if the link is not deleted.

    Raises NotFound if the account has no such link, or if the link can no longer be restored. Also raises every error
    with which `add_links` would reject the link.
    """
    yield from lock_user(user_id)
    yield from lock_account(account_id)
    link = yield from get_link(user_id, link_id)
    if link is None or link.account_id != account_id:
        raise NotFound
    if link.state == "active":
        yield UNCHANGED
        return link
    if link.restorable_until is None or link.restorable_until <= now:
        raise NotFound(NOT_RESTORABLE)
    check_enabled(link)
    hosts = yield sql("select host from link_hosts where account_id = $1", account_id)
    if not hosts:
        raise Conflict("link_host_required")
    taken = yield from used_codes(account_id, [link.code])
    disabled = yield from disabled_codes(account_id, [link.code])
    if refusal := _refusal(link, hosts[0]["host"], taken, disabled):
        raise refusal
    version = yield from bump_version(account_id)
    yield sql("update links set state = 'active', version = $2, deleted_at = null where id = $1", link_id, version)
    yield from _check_limit(link.user_id, default_limit)
    return replace(link, state="active", version=version, deleted_at=None)


def _check_limit(user_id: int, default_limit: int, unstored: int = 0) -> Tx[None]:
    """Raise Forbidden limit_reached if the user has too many links; see `add_links`."""
    limit = yield from limit_of(user_id, "links", default_limit)
    if (yield from count_links(user_id)) + unstored > limit:
        raise Forbidden("limit_reached", f"The limit of {limit} links has been reached.")


def _live_link(account_id: str, link_id: str) -> Tx[Link]:
    """Lock the account and return the link. Raises NotFound if the account has no such link or the link was deleted."""
    yield from lock_account(account_id)
    rows = yield sql("select * from links where id = $1 and account_id = $2", link_id, account_id)
    link = link_of(rows[0]) if rows else None
    if link is None:
        raise NotFound
    if link.state == "deleted":
        raise NotFound(LINK_DELETED)
    return link


def _rules_json(link: Link) -> str | None:
    return to_json([rule.fields() for rule in link.rules])


def _row(link: Link) -> tuple[Parameter, ...]:
    return (
        link.id,
        link.account_id,
        link.user_id,
        link.code,
        link.url,
        _rules_json(link),
        link.state,
        link.version,
        link.created_at,
        *_texts(link),
        *_options(link),
    )


def _texts(link: Link) -> tuple[str, str, str, str]:
    """Return the values of the columns `title`, `title_folded`, `note` and `tags`.

    A missing text is "" and not null, so that PostgreSQL can insert many links with one statement.
    """
    title = link.title or ""
    return (title, folded(title), link.note or "", tags_text(link.tags))


def _options(link: Link) -> tuple[Parameter, ...]:
    """Return the values of the columns `forward_query`, `starts_at`, `ends_at`, `after_url` and `split`.

    A missing value is 0 or "" and not null, so that PostgreSQL can insert many links with one statement.
    """
    split = to_json(link.split) if link.split else ""
    return (int(link.forward_query), link.starts_at or 0, link.ends_at or 0, link.after_url or "", split)


def tags_text(tags: Sequence[str]) -> str:
    """Return the tags as stored: as one text with a space before and after each tag, or "" if there are no tags."""
    return f" {' '.join(tags)} " if tags else ""


def links_to(account_id: str, host: str) -> Tx[list[Link]]:
    """Return the account's links with a destination on `host` (in lower case), oldest first."""
    rows = yield sql(
        "select * from links where account_id = $1 and state = 'active'"
        " and (lower(url) like $2 or lower(rules) like $2 or lower(after_url) like $2 or lower(split) like $2)"
        " order by created_at, id",
        account_id,
        f"%{host}%",  # host names do not contain SQL wildcards; the matches are filtered below
    )
    return [link for link in map(link_of, rows) if link.targets_on(host)]


def links_of_codes(account_id: str, codes: Sequence[str]) -> Tx[dict[str, Link]]:
    """Return the account's links with these codes (at most a few thousand), by code."""
    by_code: dict[str, Link] = {}
    for first in range(0, len(codes), CODES_A_STATEMENT):
        some = codes[first : first + CODES_A_STATEMENT]
        rows = yield sql(
            "select * from links where account_id = $1 and state = 'active'"  # noqa: S608  # placeholders only
            f" and code in ({placeholders(len(some), first=2)})",
            account_id,
            *some,
        )
        by_code.update((row["code"], link_of(row)) for row in rows)
    return by_code


def count_links(user_id: int) -> Tx[int]:
    """Return the number of the user's links. Deleted links do not count."""
    rows = yield sql("select count(*) as n from links where user_id = $1 and state = 'active'", user_id)
    return int(rows[0]["n"])


def get_link(user_id: int, link_id: str) -> Tx[Link | None]:
    """Return a link of this user, even if deleted; None if it does not exist or belongs to another user."""
    rows = yield sql("select * from links where id = $1 and user_id = $2", link_id, user_id)
    return link_of(rows[0]) if rows else None


def changed_links(account_id: str, after_version: int) -> Tx[list[Link]]:
    """Return the account's links with a version after `after_version`, in order of version. Includes deleted links."""
    rows = yield sql(
        "select * from links where account_id = $1 and version > $2 order by version", account_id, after_version
    )
    return links_of(rows)


def links_of(rows: Sequence[Row]) -> list[Link]:
    """Return the links that are stored in rows of `links`.

    Links with equal rules share one object, which saves memory after many links were given the same rules.
    """
    parsed = cache(_rules_of)
    return [link_of(row, parsed) for row in rows]


def _rules_of(text: str) -> tuple[Rule, ...]:
    return tuple(Rule.from_fields(fields) for fields in from_json(text))


def link_of(row: Row, rules_of: Callable[[str], tuple[Rule, ...]] = _rules_of) -> Link:
    """Return the link that is stored in a row of `links`. `rules_of`: parses the stored rules."""
    return Link(
        id=row["id"],
        account_id=row["account_id"],
        user_id=row["user_id"],
        code=row["code"],
        url=row["url"],
        rules=rules_of(row["rules"]),
        state=row["state"],
        version=row["version"],
        created_at=row["created_at"],
        config_error=note_from_json(row["config_error"]),
        live_at=row["live_at"],
        disabled=disabled_of(row),
        title=row["title"] or None,  # null in rows that an older version stored
        note=row["note"] or None,
        tags=tuple(row["tags"].split()),
        deleted_at=row["deleted_at"],
        forward_query=row["forward_query"] == 1,
        starts_at=row["starts_at"] or None,
        ends_at=row["ends_at"] or None,
        after_url=row["after_url"] or None,
        split=tuple(Variant(each["url"], each["share"]) for each in from_json(row["split"] or None) or ()),
    )


def used_codes(account_id: str, codes: Collection[str]) -> Tx[list[str]]:
    """Return those of `codes` that links in the account already use, in alphabetical order."""
    wanted = sorted(set(codes))
    used: list[str] = []
    for first in range(0, len(wanted), CODES_A_STATEMENT):
        some = wanted[first : first + CODES_A_STATEMENT]
        rows = yield sql(
            "select code from links where account_id = $1 and state = 'active'"  # noqa: S608  # placeholders only
            f" and code in ({placeholders(len(some), first=2)})",
            account_id,
            *some,
        )
        used += [row["code"] for row in rows]
    return sorted(used)
