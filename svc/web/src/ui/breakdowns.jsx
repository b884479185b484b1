/** The breakdowns of a report: lists of the most frequent values, with bars. */

import { saveFile } from "../files.js";
import { country, day, number, percent } from "../format.js";
import { reportCsv } from "../report-csv.js";
import { sourceAddress, sourceName } from "../sources.js";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Breakdowns} Lists
 * @typedef {Exclude<keyof Lists, "campaigns" | "entries" | "arrivals" | "targets">} Name
 */

/** @type {Name[]} */
const NAMES = ["pages", "sources", "channels", "countries", "devices", "browsers", "os", "bots"];
/** The key that combines all values beyond the worker's limit. */
const OTHER = "(other)";
/** The number of entries that a list has at first. */
const FIRST = 10;

/**
 * @param {{
 *   kind: "site" | "link",
 *   host: string,
 *   lists: Lists,
 *   totals: import("../wire").Counts,
 *   from: string | null,
 *   expanded: Name[],
 *   toggle: (name: Name) => void,
 *   name: string,
 *   slots: import("../series.js").Slot[],
 * }} props `host`: the site's host, or ""; `name`: the name of the CSV file; `slots`: what the chart shows; `totals`:
 *   what the shares refer to; `from`: the first day of the breakdowns, if later than the report's; `expanded`: the
 *   lists of which all entries are shown
 */
export const Breakdowns = ({ kind, host, lists, totals, from, expanded, toggle, name: file, slots }) => (
  <section aria-labelledby="lists">
    <h2 id="lists">{t().report.lists}</h2>
    {from && <p class="small">{t().report.listsFrom(day(from))}</p>}
    <div class="breakdowns">
      {namesOf(kind, lists).map((name) => (
        <List
          key={name}
          kind={kind}
          host={host}
          name={name}
          rows={lists[name] ?? []}
          all={name === "bots" ? totals.bots : totals.views}
          isExpanded={expanded.includes(name)}
          toggle={() => toggle(name)}
        />
      ))}
    </div>
    <p class="actions">
      <button
        type="button"
        class="quiet"
        onClick={() => {
          const shown = namesOf(kind, lists).map((name) => ({
            name,
            rows: shownRows(name, lists[name] ?? [], expanded.includes(name)),
          }));
          const csv = new Blob([reportCsv(slots, shown)], { type: "text/csv" });
          saveFile(csv, `${file.replace(/[^\w.-]+/g, "-")}-report.csv`);
        }}
      >
        {t().lists.export}
      </button>
    </p>
  </section>
);

/** @param {"site" | "link"} kind @param {Lists} lists @returns {Name[]} the lists that the page shows, in order */
const namesOf = (kind, lists) => NAMES.filter((name) => lists[name] && (kind === "site" || name !== "pages"));

/**
 * @param {Name} name @param {import("../wire").Top[]} rows @param {boolean} isExpanded
 * @returns {import("../wire").Top[]} the entries that the page shows, in order
 */
function shownRows(name, rows, isExpanded) {
  const sorted = [...rows].sort((one, other) => Number(one.key === OTHER) - Number(other.key === OTHER));
  return isExpanded || name === "channels" ? sorted : sorted.slice(0, FIRST);
}

/**
 * @param {{
 *   kind: "site" | "link",
 *   host: string,
 *   name: Name,
 *   rows: import("../wire").Top[],
 *   all: number,
 *   isExpanded: boolean,
 *   toggle: () => void,
 * }} props
 */
function List({ kind, host, name, rows, all, isExpanded, toggle }) {
  const words = t().report;
  const title = name === "channels" ? t().lists.channels : words[name];
  const shown = shownRows(name, rows, isExpanded);
  const largest = Math.max(1, ...rows.map(({ n }) => n));
  // A site's breakdowns can be more recent than its totals.
  const whole = Math.max(1, all, largest);
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
      {rows.length >= FIRST && name !== "channels" && (
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
    name === "pages" && value.startsWith("/")
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
  const words = t().report;
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
  const known = name === "devices" ? words.deviceNames : name === "channels" ? t().lists.channelNames : {};
  return <>{known[value] ?? (value || t().common.unknown)}</>;
}

/** @param {{value: string, kind: "site" | "link"}} props a source, with its name and initial if it is well known */
function Source({ value, kind }) {
  const words = t().report;
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
