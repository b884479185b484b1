/** The breakdowns of a report: lists of the most frequent values, with bars. */

import { FIRST, OTHER, listedCounts, shownLists } from "../breakdown-lists.js";
import { country, number, percent } from "../format.js";
import { sourceAddress, sourceName } from "../sources.js";
import { t } from "../words.js";

/**
 * @typedef {import("../breakdown-lists.js").Lists} Lists
 * @typedef {import("../breakdown-lists.js").Name} Name
 */

/**
 * @param {{
 *   kind: "site" | "link",
 *   host: string,
 *   lists: Lists,
 *   expanded: Name[],
 *   toggle: (name: Name) => void,
 * }} props `host`: the site's host, or ""; `expanded`: the lists of which all entries are shown
 */
export function Breakdowns({ kind, host, lists, expanded, toggle }) {
  const counts = listedCounts(lists);
  return (
    <div class="breakdowns">
      {shownLists(kind, lists, expanded).map(({ name, rows }) => (
        <List
          key={name}
          kind={kind}
          host={host}
          name={name}
          shown={rows}
          total={lists[name]?.length ?? 0}
          all={name === "bots" ? counts.bots : counts.views}
          isExpanded={expanded.includes(name)}
          toggle={() => toggle(name)}
        />
      ))}
    </div>
  );
}

/**
 * @param {{
 *   kind: "site" | "link",
 *   host: string,
 *   name: Name,
 *   shown: import("../wire").Top[],
 *   total: number,
 *   all: number,
 *   isExpanded: boolean,
 *   toggle: () => void,
 * }} props `total`: the number of entries that were read; `all`: the count that the shares refer to
 */
function List({ kind, host, name, shown, total, all, isExpanded, toggle }) {
  const words = t().lists;
  const title = words[name];
  const largest = Math.max(1, ...shown.map(({ n }) => n));
  const whole = Math.max(1, all);
  return (
    <section class={`breakdown ${name}`} aria-labelledby={`list-${name}`}>
      <h3 id={`list-${name}`}>{title}</h3>
      {name === "bots" && <p class="small">{words.botsHint}</p>}
      {shown.length === 0 && <p class="small">{words.empty}</p>}
      <ol>
        {shown.map(({ key, n }) => (
          <li key={key}>
            <svg class="share" aria-hidden="true">
              <rect width={`${(100 * n) / largest}%`} height="100%" />
            </svg>
            <span class="what">
              <Linked name={name} value={key} kind={kind} host={host} />
            </span>
            <span class="number">{number(n)}</span>
            <span class="small portion">{percent(n / whole)}</span>
          </li>
        ))}
      </ol>
      {total >= FIRST && name !== "channels" && (
        <p class="actions">
          <button type="button" class="quiet" aria-expanded={isExpanded} onClick={toggle}>
            {isExpanded ? words.showFewer : words.showAll} <span class="unseen">{title}</span>
          </button>
        </p>
      )}
    </section>
  );
}

/**
 * The label of a key, which links to the page or source.
 * @param {{name: Name, value: string, kind: "site" | "link", host: string}} props
 */
function Linked({ name, value, kind, host }) {
  const label = <What name={name} value={value} kind={kind} />;
  const address =
    (name === "pages" || name === "entries") && value.startsWith("/")
      ? `https://${host}${value}`
      : name === "sources"
        ? sourceAddress(value)
        : null;
  return address === null ? (
    label
  ) : (
    <a href={address} target="_blank" rel="noopener noreferrer" title={value}>
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
  /** @type {Record<string, string>} */
  const known = name === "devices" ? words.deviceNames : name === "channels" ? words.channelNames : {};
  return <>{known[value] ?? (value || t().common.unknown)}</>;
}

/** @param {{value: string, kind: "site" | "link"}} props a source, with its name and initial if it is well known */
function Source({ value, kind }) {
  const words = t().lists;
  if (value === "") return <>{words.direct}</>;
  if (value === "(internal)") return <>{words.internal}</>;
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
