/** The selected links of a list. */

import { useSignal } from "@preact/signals";

/**
 * @typedef {import("./wire").Link} Link
 * @typedef {{account_id: string, q: string, tag: string}} Filter empty texts match all links
 * @typedef {{ids: string[]} | {filter: Partial<Filter>}} Target links in a request
 */

/**
 * @typedef {object} Selection
 * @property {boolean} isAll true if all links of the list are selected, including those that are not shown
 * @property {Link[]} chosen the selected links among those that are shown
 * @property {boolean} isEmpty
 * @property {(link: Link) => boolean} has
 * @property {(link: Link) => void} toggle
 * @property {(all: boolean) => void} showAll select all links that are shown, or none
 * @property {() => void} extend select all links of the list
 * @property {() => void} clear
 * @property {Target} target the selected links in a request
 */

/**
 * @param {Link[]} shown
 * @param {Filter} filter of the list; another filter begins a new selection
 * @returns {Selection}
 */
export function useSelection(shown, filter) {
  const asked = JSON.stringify(filter);
  const state = useSignal({ asked, ids: /** @type {string[]} */ ([]), isAll: false });
  const current = state.value.asked === asked ? state.value : { asked, ids: [], isAll: false };
  // A link that is no longer in the list, because it was deleted elsewhere, is no longer selected.
  const chosen = current.isAll ? shown : shown.filter(({ id }) => current.ids.includes(id));
  /** @param {string[]} ids */
  const set = (ids) => void (state.value = { asked, ids, isAll: false });
  const ids = chosen.map(({ id }) => id);
  return {
    isAll: current.isAll,
    chosen,
    isEmpty: chosen.length === 0,
    has: ({ id }) => current.isAll || current.ids.includes(id),
    toggle: ({ id }) => set(ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]),
    showAll: (all) => set(all ? shown.map(({ id }) => id) : []),
    extend: () => void (state.value = { asked, ids: [], isAll: true }),
    clear: () => set([]),
    target: current.isAll ? { filter: present(filter) } : { ids },
  };
}

/** @param {Filter} filter @returns {Partial<Filter>} without empty texts */
const present = (filter) => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""));
