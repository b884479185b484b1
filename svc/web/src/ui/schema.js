/** Conversion of OpenAPI schemas to table rows and examples. Pure functions. */

/**
 * @typedef {Record<string, any>} Schema
 * @typedef {{path: string, required: boolean, type: string, facts: string[], description: string}} Row `type`: in the
 *   notation of code, such as `string[]`
 * @typedef {ReturnType<typeof import("../words.js").t>["reference"]["types"]} Words
 */

/** Keywords that determine the rows. A test checks that the OpenAPI document uses only these keywords and FACTS. */
export const SHAPE = [
  "$ref",
  "additionalProperties",
  "anyOf",
  "description",
  "examples",
  "items",
  "prefixItems",
  "properties",
  "required",
  "title",
  "type",
];

/** Keywords that restrict a value. Each keyword has a text in `reference.types.facts`. */
export const FACTS = /** @type {const} */ ([
  "const",
  "enum",
  "format",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "minProperties",
  "propertyNames",
  "not",
  "pattern",
  "default",
  "writeOnly",
  "contentEncoding",
]);

// Longer patterns are not shown.
const LONGEST_PATTERN = 40;
const DEEPEST = 12;

/** @param {Schema} schema @param {Record<string, Schema>} schemas @returns {Schema} with the reference resolved */
function resolve(schema, schemas) {
  const name = nameOf(schema);
  return name ? { ...schemas[name], ...schema } : schema;
}

/** @param {Schema} schema @returns {string} the name of the referenced schema, or "" */
const nameOf = ({ $ref = "" }) => $ref.split("/").pop();

/**
 * @param {string} pattern
 * @returns {boolean} false if the pattern is long, or only excludes control characters
 */
const isReadable = (pattern) => pattern.length <= LONGEST_PATTERN && !pattern.includes("\\x00");

/** @param {Schema} schema @param {Words} words @returns {string[]} */
function factsOf(schema, words) {
  return FACTS.filter((name) => name in schema)
    .filter((name) => name !== "pattern" || isReadable(schema["pattern"]))
    .map((name) => /** @type {(value: any) => string} */ (words.facts[name])(schema[name]));
}

/**
 * Describe a schema: its type, its restrictions and its nested fields.
 * @param {Schema} given @param {Record<string, Schema>} schemas @param {Words} words
 * @returns {{type: string, facts: string[], below: [suffix: string, schema: Schema][]}}
 */
function describe(given, schemas, words) {
  const schema = resolve(given, schemas);
  if (schema["anyOf"]) {
    const seen = schema["anyOf"].map((/** @type {Schema} */ each) => describe(each, schemas, words));
    const flat = (/** @type {"facts" | "below"} */ part) => seen.flatMap((/** @type {any} */ each) => each[part]);
    const types = seen.map((/** @type {any} */ { type }) => type);
    return {
      type: [...new Set(types)].join(" | "),
      facts: [...flat("facts"), ...factsOf(schema, words)],
      below: flat("below"),
    };
  }
  const facts = factsOf(schema, words);
  if (schema["prefixItems"]) {
    const items = schema["prefixItems"].map((/** @type {Schema} */ each) => describe(each, schemas, words).type);
    return { type: `[${items.join(", ")}]`, facts, below: [] };
  }
  if (schema["type"] === "array") {
    const item = describe(schema["items"] ?? {}, schemas, words);
    const below = item.below.map(([suffix, each]) => /** @type {[string, Schema]} */ ([`[]${suffix}`, each]));
    return {
      type: `${item.type.includes(" ") ? `(${item.type})` : item.type}[]`,
      facts: [...facts, ...item.facts],
      below,
    };
  }
  if (schema["properties"]) {
    const needed = schema["required"] ?? [];
    return {
      type: "object",
      facts,
      below: Object.entries(schema["properties"]).map(([name, each]) => [
        `.${name}`,
        { .../** @type {Schema} */ (each), needed: needed.includes(name) },
      ]),
    };
  }
  if (schema["type"] === "object" && typeof schema["additionalProperties"] === "object") {
    const value = describe(schema["additionalProperties"], schemas, words);
    const below = value.below.map(([suffix, each]) => /** @type {[string, Schema]} */ ([`.*${suffix}`, each]));
    return { type: `object<${value.type}>`, facts: [...facts, ...value.facts], below };
  }
  return { type: schema["type"] ?? "any", facts, below: [] };
}

/**
 * @param {Schema} schema @param {Record<string, Schema>} schemas @param {Words} words
 * @param {string} [above] the path of the schema
 * @returns {Row[]} one row per field, nested fields after their parent: `account`, `account.token.name`, `rules[].url`
 */
export function rowsOf(schema, schemas, words, above = "", depth = 0) {
  if (depth > DEEPEST) return [];
  return describe(schema, schemas, words).below.flatMap(([suffix, each]) => {
    const path = `${above}${suffix}`.replace(/^\./, "");
    const { type, facts } = describe(each, schemas, words);
    const { description = "" } = each["$ref"] ? { ...resolve(each, schemas) } : each;
    const row = { path, required: Boolean(each["needed"]), type, facts, description };
    return [row, ...rowsOf(each, schemas, words, path, depth + 1)];
  });
}

/**
 * @param {Schema} schema @param {Record<string, Schema>} schemas @param {Words} words
 * @returns {string[]} the type of a value, then its restrictions
 */
export function valueOf(schema, schemas, words) {
  const { type, facts } = describe(schema, schemas, words);
  return [type, ...facts];
}

/** @type {Record<string, unknown>} */
const PLAIN = { integer: 1, number: 1, boolean: true, null: null };
/** @type {Record<string, string>} */
const FORMATS = { "date-time": "2026-11-21T04:00:00.000Z", date: "2026-11-21", email: "ann@example.com" };

/**
 * @param {Schema} given @param {Record<string, Schema>} schemas
 * @returns {unknown} an example value, from the schema's own examples if it has any
 */
export function exampleOf(given, schemas, depth = 0) {
  const schema = resolve(given, schemas);
  const said = [schema["example"], schema["examples"]?.[0], schema["const"], schema["default"], schema["enum"]?.[0]];
  const found = said.find((value) => value !== undefined);
  if (found !== undefined) return found;
  if (depth > DEEPEST) return null;
  if (schema["anyOf"]) return exampleOf(schema["anyOf"][0], schemas, depth + 1);
  if (schema["prefixItems"]) {
    return schema["prefixItems"].map((/** @type {Schema} */ each) => exampleOf(each, schemas, depth + 1));
  }
  if (schema["type"] === "array") {
    const { items, minItems = 1 } = schema;
    return items ? Array.from({ length: Math.max(1, minItems) }, () => exampleOf(items, schemas, depth + 1)) : [];
  }
  if (schema["properties"]) {
    return Object.fromEntries(
      Object.entries(schema["properties"]).map(([name, each]) => [
        name,
        exampleOf(/** @type {Schema} */ (each), schemas, depth + 1),
      ]),
    );
  }
  if (schema["type"] === "object") return {};
  if (schema["type"] === "string") return FORMATS[schema["format"]] ?? "…";
  return PLAIN[schema["type"]] ?? Math.max(1, schema["minimum"] ?? 1);
}
