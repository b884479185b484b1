/** The breakdowns of a report: lists of the most frequent values, with bars. */

import { country, day, number } from "../format.js";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Breakdowns} Lists
 * @typedef {keyof Lists} Name
 */

/** @type {Name[]} */
const NAMES = ["pages", "sources", "countries", "devices", "browsers", "os", "bots"];
/** The key that combines all values beyond the worker's limit. */
const OTHER = "(other)";

/**
 * @param {{kind: "site" | "link", lists: Lists, totals: import("../wire").Counts, from: string | null}} props
 *   `totals`: the full length of a bar; `from`: the first day of the breakdowns, if later than the report's
 */
export const Breakdowns = ({ kind, lists, totals, from }) => (
  <section aria-labelledby="lists">
    <h2 id="lists">{t().report.lists}</h2>
    {from && <p class="small">{t().report.listsFrom(day(from))}</p>}
    <div class="breakdowns">
      {NAMES.filter((name) => kind === "site" || name !== "pages").map((name) => (
        <List
          key={name}
          kind={kind}
          name={name}
          rows={lists[name]}
          all={name === "bots" ? totals.bots : totals.views}
        />
      ))}
    </div>
  </section>
);

/** @param {{kind: "site" | "link", name: Name, rows: Lists[Name], all: number}} props */
function List({ kind, name, rows, all }) {
  const words = t().report;
  const sorted = [...rows].sort((one, other) => Number(one.key === OTHER) - Number(other.key === OTHER));
  // A site's breakdowns are more recent than its totals.
  const whole = Math.max(1, all, ...rows.map(({ n }) => n));
  return (
    <section class={`breakdown ${name}`} aria-labelledby={`list-${name}`}>
      <h3 id={`list-${name}`}>{words[name]}</h3>
      {name === "bots" && <p class="small">{words.botsHint}</p>}
      {sorted.length === 0 && <p class="small">{words.empty}</p>}
      <ol>
        {sorted.map(({ key, n }) => (
          <li key={key}>
            <svg class="share" aria-hidden="true">
              <rect width={`${(100 * n) / whole}%`} height="100%" />
            </svg>
            <span class="what">
              <What name={name} value={key} kind={kind} />
            </span>
            <span class="number">{number(n)}</span>
          </li>
        ))}
      </ol>
    </section>
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
  /** @type {Record<string, string>} */
  const known =
    name === "sources"
      ? { "": words.direct, "(internal)": words.internal, ...(kind === "link" && { qr: words.qr }) }
      : name === "devices"
        ? words.deviceNames
        : {};
  return <>{known[value] ?? (value || t().common.unknown)}</>;
}
