/** The choices about a report that are in the URL of its page: the period, the step, the comparison and the bots. */

import { useRef } from "preact/hooks";

import { changed, comparisonOf, rangeOf } from "./range.js";
import { address, go, setSearch } from "./router.js";
import { t } from "./words.js";

/**
 * Return the choices, functions that change them, and the shortcut for the comparison.
 * @returns {{
 *   search: URLSearchParams,
 *   range: ReturnType<typeof rangeOf>,
 *   compare: ReturnType<typeof comparisonOf>,
 *   comparison: string,
 *   bots: boolean,
 *   toggle: {compared: () => void, bots: () => void},
 *   keys: import("./keys.js").Shortcut[],
 * }} `comparison`: the name of the comparison, or of the one that is restored if it is turned on again
 */
export function useReportChoices() {
  const search = address.value.searchParams;
  const compare = comparisonOf(search);
  const bots = search.get("bots") === "on";
  const last = useRef(compare);
  last.current = compare ?? last.current;
  const toggle = {
    compared: () => go(changed(search, { compare: compare ? "off" : last.current === "year" ? "year" : undefined })),
    bots: () => setSearch({ bots: bots ? null : "on" }),
  };
  const keys = search.get("period") === "all" ? [] : [{ keys: "x", says: t().report.compare, does: toggle.compared }];
  const comparison = t().report.comparisons[last.current ?? "previous"] ?? "";
  return { search, range: rangeOf(search), compare, comparison, bots, toggle, keys };
}
