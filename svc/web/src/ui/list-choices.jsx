/**
 * The controls that sort a list of sites or links and filter it by state. The URL contains the choices, unless they are
 * the defaults.
 */

import { setSearch } from "../router.js";
import { Choice } from "./choice.jsx";

/**
 * @template {string} O
 * @template {string} S
 * @param {{
 *   words: {order: string, orders: Record<O, string>, which: string, whiches: Record<S, string>},
 *   order: O,
 *   state: S,
 * }} props
 */
export const ListChoices = ({ words, order, state }) => (
  <>
    <Choice
      label={words.order}
      value={order}
      options={words.orders}
      choose={(chosen) => setSearch({ order: chosen === "newest" ? null : chosen })}
    />
    <Choice
      label={words.which}
      value={state}
      options={words.whiches}
      choose={(chosen) => setSearch({ state: chosen === "active" ? null : chosen })}
    />
  </>
);
