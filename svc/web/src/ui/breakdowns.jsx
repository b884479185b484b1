/** The lists of a report: what was counted most, each line with a bar behind it. */

import { country, day, number } from "../format.js";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Breakdowns} Lists
 * @typedef {keyof Lists} Name
 */

/** @type {Name[]} */
const NAMES = ["pages", "sources", "countries", "devices", "browsers", "os", "bots"];
/** What is beyond the keys that the worker keeps apart. */
const OTHER = "(other)";

/**
 * @param {{kind: "site" | "link", of: Lists, totals: import("../wire").Counts, from: string | null}} props
 *   `totals`: what a whole bar is; `from`: the first day of the lists, where that is later than the report's
 */
export const Breakdowns = ({ kind, of, totals, from }) => (
  <section aria-labelledby="lists">
    <h2 id="lists">{t().report.lists}</h2>
    {from && <p class="small">{t().report.listsFrom(day(from))}</p>}
    <div class="breakdowns">
      {NAMES.filter((name) => kind === "site" || name !== "pages").map((name) => (
        <List key={name} kind={kind} name={name} of={of[name]} all={name === "bots" ? totals.bots : totals.views} />
      ))}
    </div>
  </section>
);

/** @param {{kind: "site" | "link", name: Name, of: Lists[Name], all: number}} props */
function List({ kind, name, of, all }) {
  const words = t().report;
  const sorted = [...of].sort((one, other) => Number(one.key === OTHER) - Number(other.key === OTHER));
  // A site's lists are newer than its totals.
  const whole = Math.max(1, all, ...of.map(({ n }) => n));
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
              <What name={name} of={key} kind={kind} />
            </span>
            <span class="number">{number(n)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** @param {{name: Name, of: string, kind?: "site" | "link"}} props a key of a list, in words */
export function What({ name, of, kind = "link" }) {
  const words = t().report;
  if (of === OTHER) return <em>{words.others}</em>;
  if (name === "countries") return <>{country(of, { unknown: words.unknownCountry })}</>;
  if (name === "bots") {
    /** @type {Record<string, string[]>} */
    const reasons = words.reasons;
    const [is = of, because = ""] = reasons[of] ?? [];
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
  return <>{known[of] ?? (of || t().common.unknown)}</>;
}
