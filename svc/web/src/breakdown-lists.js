/** The breakdown lists of a report, as the page shows and exports them. Pure functions. */

/**
 * @typedef {import("./wire").Breakdowns} Lists
 * @typedef {keyof Lists} Name
 * @typedef {import("./wire").Top} Top
 * @typedef {{name: Name, rows: Top[], source?: string, total: number}} Shown `source`: the source of `arrivals`;
 *   `total`: the number of entries that were read
 */

/** @type {Name[]} */
const NAMES = [
  "pages",
  "entries",
  "sources",
  "arrivals",
  "channels",
  "campaigns",
  "targets",
  "outside",
  "countries",
  "devices",
  "browsers",
  "os",
  "bots",
];
/**
 * Most sites and links have no entries in these lists, so the page omits the lists if they are empty. @type {Name[]}
 */
const OPTIONAL = ["campaigns", "targets", "outside"];
/** The key under which the Worker counts all values for which its list had no space. */
export const OTHER = "(other)";
/** The number of entries that a list shows until the user expands it. */
export const FIRST = 10;

/** The key of views that followed another view on the same site. */
export const INTERNAL = "(internal)";

/**
 * @param {Lists} lists @param {string} source
 * @returns {boolean} true if the report can list the pages on which visits from this source began
 */
export const hasArrivals = ({ arrivals }, source) => Boolean(arrivals) && source !== OTHER && source !== INTERNAL;

/**
 * @param {Lists} lists @param {string} source
 * @returns {Top[]} the pages on which visits from a source began; one entry combines the remaining visits from the
 *   source
 */
function arrivalsFrom({ arrivals, sources }, source) {
  const rows = (arrivals ?? []).filter((one) => one.source === source).map(({ page, n }) => ({ key: page, n }));
  const others = (sources.find(({ key }) => key === source)?.n ?? 0) - totalOf(rows);
  return others > 0 ? [...rows, { key: OTHER, n: others }] : rows;
}

/**
 * @param {Lists} lists @param {Name} name @param {string | null} source
 * @returns {Top[] | undefined} all entries of a list, if the report has it
 */
function rowsOf(lists, name, source) {
  if (name !== "arrivals") return lists[name] ?? undefined;
  return source !== null && hasArrivals(lists, source) ? arrivalsFrom(lists, source) : undefined;
}

/**
 * @param {Name} name @param {Top[]} rows @param {boolean} isExpanded
 * @returns {Top[]} the entries that the page shows, in order
 */
function shownRows(name, rows, isExpanded) {
  const sorted = [...rows].sort((one, other) => Number(one.key === OTHER) - Number(other.key === OTHER));
  return isExpanded || name === "channels" ? sorted : sorted.slice(0, FIRST);
}

/**
 * The lists that the page shows, in order.
 * @param {"site" | "link"} kind @param {Lists} lists
 * @param {Name[]} expanded the lists that show all entries
 * @param {string | null} [source] the source whose entry pages are listed
 * @returns {Shown[]}
 */
export const shownLists = (kind, lists, expanded, source = null) =>
  NAMES.flatMap((name) => {
    const rows = rowsOf(lists, name, source);
    if (!rows || (kind === "link" && name === "pages") || (rows.length === 0 && OPTIONAL.includes(name))) return [];
    const shown = shownRows(name, rows, expanded.includes(name));
    return [{ name, rows: shown, total: rows.length, ...(name === "arrivals" && source !== null && { source }) }];
  });

/** @param {Top[] | null | undefined} rows @returns {number} */
export const totalOf = (rows) => (rows ?? []).reduce((all, { n }) => all + n, 0);

/**
 * @param {Lists} lists
 * @returns {{views: number, bots: number}} the counts on the days that the lists cover. They are the sums of the lists
 *   of channels and bots, which contain all views and bots
 */
export const listedCounts = ({ channels, bots }) => ({ views: totalOf(channels), bots: totalOf(bots) });
