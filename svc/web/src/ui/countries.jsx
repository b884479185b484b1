/** A country picker: checkboxes, searchable by name and code. */

import { countries, GROUPS, named } from "../countries.js";
import { list } from "../format.js";
import { t } from "../words.js";
import { Picker } from "./picker.jsx";

/**
 * @param {string[]} codes
 * @param {(count: number) => string} [others] the text for the remaining countries; in German, the default has the
 *   grammatical case that follows "visitors from"
 * @returns {string} such as `Germany, Austria, and 3 more`; "any country" for an empty list
 */
export function inWords(codes, others = t().picker.others) {
  const { names, others: count } = named(codes);
  if (names.length === 0) return t().picker.anyCountry;
  return list(count > 0 ? [...names, others(count)] : names);
}

/**
 * @param {{
 *   text: string,
 *   label: string,
 *   chosen: string[],
 *   choose: (codes: string[]) => void,
 * }} props see `Picker`
 */
export function CountryPicker(props) {
  const words = t().picker;
  return (
    <Picker
      {...props}
      options={(query) =>
        countries(props.chosen).filter(
          ({ code, name }) => code.toLowerCase() === query || name.toLocaleLowerCase().includes(query),
        )
      }
      groups={GROUPS.map(([name, codes]) => ({ name: words.groups[name], codes }))}
      words={{
        find: words.findCountry,
        none: words.noCountry,
        clear: words.clearCountries,
        groupsOf: words.countryGroups,
      }}
    />
  );
}
