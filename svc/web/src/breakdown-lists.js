/** The lists of a report, as the page shows and exports them. Pure functions. */

/**
 * @typedef {import("./wire").Breakdowns} Lists
 * @typedef {Exclude<keyof Lists, "arrivals">} Name
 * @typedef {import("./wire").Top} Top
 */

/** @type {Name[]} */
const NAMES = [
  "pages",
  "entries",
  "sources",
  "channels",
  "campaigns",
  "targets",
  "countries",
  "devices",
  "browsers",
  "os",
  "bots",
];
/** Most sites and links have none of these, so the page omits them if they are empty. @type {Name[]} */
const OPTIONAL = ["campaigns", "targets"];
/** The key that combines all values beyond the worker's limit. */
export const OTHER = "(other)";
/** The number of entries that a list has at first. */
export const FIRST = 10;

/** @param {"site" | "link"} kind @param {Lists} lists @returns {Name[]} the lists that the page shows, in order */
const namesOf = (kind, lists) =>
  NAMES.filter((name) => {
    const rows = lists[name];
    return rows && (kind === "site" || name !== "pages") && (rows.length > 0 || !OPTIONAL.includes(name));
  });

/**
 * @param {Name} name @param {Top[]} rows @param {boolean} isExpanded
 * @returns {Top[]} the entries that the page shows, in order
 */
function shownRows(name, rows, isExpanded) {
  const sorted = [...rows].sort((one, other) => Number(one.key === OTHER) - Number(other.key === OTHER));
  return isExpanded || name === "channels" ? sorted : sorted.slice(0, FIRST);
}

/**
 * @param {"site" | "link"} kind @param {Lists} lists @param {Name[]} expanded the lists that show all entries
 * @returns {{name: Name, rows: Top[]}[]}
 */
export const shownLists = (kind, lists, expanded) =>
  namesOf(kind, lists).map((name) => ({ name, rows: shownRows(name, lists[name] ?? [], expanded.includes(name)) }));

/** @param {Top[] | null | undefined} rows @returns {number} */
const sum = (rows) => (rows ?? []).reduce((all, { n }) => all + n, 0);

/**
 * @param {Lists} lists
 * @returns {{views: number, bots: number}} the counts on the days that the lists cover. The lists of channels and of
 *   bots are always complete
 */
export const listedCounts = ({ channels, bots }) => ({ views: sum(channels), bots: sum(bots) });
