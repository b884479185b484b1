/** A link's rules, in the format that the editor uses. */

/**
 * @typedef {import("./wire").Rule} Rule
 * @typedef {import("./wire").NewRule} NewRule
 * @typedef {"any" | "mobile" | "desktop"} Device
 * @typedef {{
 *   key: number,
 *   countries: string[],
 *   device: Device,
 *   languages: string[] | null,
 *   os: string[] | null,
 *   query: {name: string, value: string, isAny: boolean} | null,
 *   url: string,
 * }} Draft `key` identifies the rule when it moves; null: the editor does not show this condition; `isAny`: true if any
 *   value of the parameter matches
 */

/** The systems that a rule can name. */
export const SYSTEMS = /** @type {const} */ (["iOS", "Android", "Windows", "macOS", "Linux"]);

/** The conditions that the user adds to a rule, in the order of the editor. */
export const CONDITIONS = /** @type {const} */ (["languages", "os", "query"]);

let drafts = 0;

/** @param {Partial<Draft>} [more] @returns {Draft} a rule for all visitors, without a URL */
export const draft = (more) => ({
  key: (drafts += 1),
  countries: [],
  device: "any",
  languages: null,
  os: null,
  query: null,
  url: "",
  ...more,
});

/** @param {readonly Rule[]} rules @returns {Draft[]} */
export const asDrafts = (rules) =>
  rules.map(({ url, countries = [], devices = [], languages, os, query }) =>
    draft({
      url,
      countries,
      device: deviceOf(devices),
      languages: languages ?? null,
      os: os ?? null,
      query: query ? { name: query.name, value: query.value ?? "", isAny: query.value === undefined } : null,
    }),
  );

/** @param {Draft[]} rules @returns {NewRule[]} for the API; a condition without a value matches all clicks */
export const asRules = (rules) =>
  rules.map(({ url, countries, device, languages, os, query }) => ({
    url: url.trim(),
    countries: orNull(countries),
    devices: device === "any" ? null : [device],
    languages: orNull(languages),
    os: /** @type {NonNullable<NewRule["os"]> | null} */ (orNull(os)),
    query: query && (query.name || query.value) ? { name: query.name, value: query.isAny ? null : query.value } : null,
  }));

/** @param {string[] | null} values @returns {string[] | null} null for an empty list, which the service rejects */
const orNull = (values) => (values && values.length > 0 ? values : null);

/** @param {readonly string[]} devices @returns {Device} `any` if both are listed */
export function deviceOf(devices) {
  const [one] = devices;
  return devices.length === 1 && (one === "mobile" || one === "desktop") ? one : "any";
}
