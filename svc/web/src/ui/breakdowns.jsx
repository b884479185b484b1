/** The breakdowns of a report: lists of the most frequent values, with bars. */

import { FIRST, INTERNAL, OTHER, hasArrivals, listedCounts, shownLists, totalOf } from "../breakdown-lists.js";
import { country, number } from "../format.js";
import { changed } from "../range.js";
import { address } from "../router.js";
import { share } from "../share.js";
import { sourceAddress, sourceName } from "../sources.js";
import { lettersOf } from "../split.js";
import { t } from "../words.js";

/**
 * @typedef {import("../breakdown-lists.js").Lists} Lists
 * @typedef {import("../breakdown-lists.js").Name} Name
 */

/**
 * @param {{
 *   kind: "site" | "link",
 *   host: string,
 *   split?: import("../wire").Link["split"],
 *   lists: Lists,
 *   expanded: Name[],
 *   expand: (names: Name[]) => void,
 * }} props `host`: the site's host, or ""; `split`: the variants of a link; `expanded`: the lists of which all entries
 *   are shown; `expand` is called with these lists after a change
 */
export function Breakdowns({ kind, host, split = null, lists, expanded, expand }) {
  const counts = listedCounts(lists);
  const source = address.value.searchParams.get("source");
  /** @param {Name} name */
  const toggle = (name) =>
    expand(expanded.includes(name) ? expanded.filter((one) => one !== name) : [...expanded, name]);
  return (
    <div class="breakdowns">
      {shownLists(kind, lists, expanded, source).map((shown) => (
        <List
          key={shown.name}
          kind={kind}
          host={host}
          split={split}
          lists={lists}
          shown={shown}
          all={shown.name === "bots" ? counts.bots : shown.name === "outside" ? totalOf(lists.outside) : counts.views}
          isExpanded={expanded.includes(shown.name)}
          toggle={() => toggle(shown.name)}
        />
      ))}
    </div>
  );
}

/**
 * @param {{
 *   kind: "site" | "link",
 *   host: string,
 *   split: import("../wire").Link["split"],
 *   lists: Lists,
 *   shown: import("../breakdown-lists.js").Shown,
 *   all: number,
 *   isExpanded: boolean,
 *   toggle: () => void,
 * }} props `all`: the count that the shares refer to
 */
function List({ kind, host, split, lists, shown, all, isExpanded, toggle }) {
  const { name, rows, source, total } = shown;
  const words = t().lists;
  const title = name === "arrivals" ? words.arrivals(textOf(source ?? "")) : words[name];
  const largest = Math.max(1, ...rows.map(({ n }) => n));
  const whole = Math.max(1, all);
  return (
    <section class={`breakdown ${name}`} aria-labelledby={`list-${name}`}>
      <h3 id={`list-${name}`}>{title}</h3>
      {(name === "bots" || name === "outside") && <p class="small">{words.botsHint}</p>}
      {rows.length === 0 && <p class="small">{name === "arrivals" ? words.noArrivals : words.empty}</p>}
      <ol>
        {rows.map(({ key, n }) => (
          <li key={key}>
            <svg class="share" aria-hidden="true">
              <rect width={`${(100 * n) / largest}%`} height="100%" />
            </svg>
            <span class="what">
              {name === "sources" && kind === "site" && hasArrivals(lists, key) ? (
                <ChosenSource value={key} />
              ) : (
                <Linked name={name} value={key} kind={kind} host={host} />
              )}
              {name === "targets" && <Variants split={split} value={key} />}
            </span>
            <span class="number">{number(n)}</span>
            <span class="small portion">{share(n / whole)}</span>
          </li>
        ))}
      </ol>
      {((total >= FIRST && name !== "channels") || name === "arrivals") && (
        <p class="actions">
          {total >= FIRST && (
            <button type="button" class="quiet" aria-expanded={isExpanded} onClick={toggle}>
              {isExpanded ? words.showFewer : words.showAll} <span class="unseen">{title}</span>
            </button>
          )}
          {name === "arrivals" && (
            <a class="button quiet" href={changed(address.value.searchParams, { source: undefined })}>
              {t().common.close} <span class="unseen">{title}</span>
            </a>
          )}
        </p>
      )}
    </section>
  );
}

/** @param {{split: import("../wire").Link["split"], value: string}} props the names of the variants with this key */
function Variants({ split, value }) {
  const letters = lettersOf(split, value);
  return letters.length === 0 ? null : <span class="small"> {letters.map(t().lists.variant).join(", ")}</span>;
}

/**
 * A source as a button that opens and closes the list of its entry pages. A source that is a host also has a link to
 * the host.
 * @param {{value: string}} props
 */
function ChosenSource({ value }) {
  const search = address.value.searchParams;
  const isOpen = search.get("source") === value;
  const site = sourceAddress(value);
  return (
    <>
      <a href={changed(search, { source: isOpen ? undefined : value })} aria-expanded={isOpen}>
        <What name="sources" value={value} kind="site" />
      </a>
      {site !== null && (
        <>
          {"\u00a0"}
          <a
            class="outside"
            href={site}
            target="_blank"
            rel="noopener noreferrer"
            aria-label={t().lists.visit(value)}
            title={t().lists.visit(value)}
          >
            <span aria-hidden="true">↗</span>
          </a>
        </>
      )}
    </>
  );
}

/** @param {string} source @returns {string} the name of a site's source as text */
const textOf = (source) => (source === "" ? t().lists.direct : (sourceName(source) ?? source));

/**
 * The label of a key, which links to the page or source.
 * @param {{name: Name, value: string, kind: "site" | "link", host: string}} props
 */
function Linked({ name, value, kind, host }) {
  const label = <What name={name} value={value} kind={kind} />;
  const target =
    (name === "pages" || name === "entries" || name === "arrivals") && value.startsWith("/")
      ? `https://${host}${value}`
      : name === "sources"
        ? sourceAddress(value)
        : null;
  return target === null ? (
    label
  ) : (
    <a href={target} target="_blank" rel="noopener noreferrer" title={value}>
      {label}
    </a>
  );
}

/** @param {{name: Name, value: string, kind?: "site" | "link"}} props the label of a key */
export function What({ name, value, kind = "link" }) {
  const words = t().lists;
  if (value === OTHER) return <em>{words.others}</em>;
  if (name === "countries") return <>{country(value, { unknown: words.unknownCountry })}</>;
  if (name === "bots") {
    /** @type {Record<string, string[]>} */
    const reasons = words.reasons;
    const [is = value, because = ""] = reasons[value] ?? [];
    return (
      <>
        {is} <span class="small">{because}</span>
      </>
    );
  }
  if (name === "sources") return <Source value={value} kind={kind} />;
  /** @type {Partial<Record<Name, Record<string, string>>>} */
  const names = { devices: words.deviceNames, channels: words.channelNames, outside: words.outsideReasons };
  const known = names[name] ?? {};
  return <>{known[value] ?? (value || t().common.unknown)}</>;
}

/** @param {{value: string, kind: "site" | "link"}} props a source, with its name and initial if it is well known */
function Source({ value, kind }) {
  const words = t().lists;
  if (value === "") return <>{words.direct}</>;
  if (value === INTERNAL) return <>{words.internal}</>;
  if (value === "qr" && kind === "link") return <>{words.qr}</>;
  const name = sourceName(value);
  return name === null ? (
    <>{value}</>
  ) : (
    <>
      <svg class="initial" width="16" height="16" aria-hidden="true">
        <rect width="16" height="16" rx="3" />
        <text x="8" y="12">
          {name.charAt(0)}
        </text>
      </svg>
      {name} <span class="small">{value}</span>
    </>
  );
}
