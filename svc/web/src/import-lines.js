/**
 * Parses links from text: one URL per line with an optional code, CSV exports with a header row, or JSON. Reports only
 * problems that make it impossible to send a line. The service validates codes and URLs. A typed URL needs no scheme.
 */

import { ADDRESSES, CODES, DELIMITERS, RULES, SHORT_ADDRESSES } from "./import-columns.js";
import { options } from "./import-options.js";
import { restrictions } from "./import-restrictions.js";
import { texts } from "./import-texts.js";
import { asUrl } from "./pasted.js";

/**
 * @typedef {import("./import-texts.js").Texts & import("./import-options.js").Options} More
 * @typedef {{url: string, code: string | null, rules?: unknown[]} & More} Row an item of POST /v1/links/bulk
 * @typedef {"noAddress" | "noJson" | "noRules" | "tooLong"} Fault
 * @typedef {import("./import-restrictions.js").Restriction} Restriction
 * @typedef {{line: number, text: string, row: Row, restriction?: Restriction, isDated?: boolean}
 *   | {line: number, text: string, fault: Fault}} Line `line`: the number of the first line of a link's text, counted
 *   from 1; `isDated`: another product gave the link a start or expiry date in the future
 */

/** Limits of a request: POST /v1/links/bulk accepts 1,000 rows and a body of 1 MiB. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 900_000;

/** @param {string} text @returns {Line[]} */
export function readLines(text) {
  const clean = text.replace(/^\ufeff/, "");
  if (/^\s*\[/.test(clean)) return jsonList(clean);
  if (/^\s*\{/.test(clean)) return jsonDocument(clean) ?? jsonLines(clean);
  const [, declared, rest = clean] = /^sep=(.)\r?\n([^]*)$/i.exec(clean) ?? [];
  for (const delimiter of declared ? [declared] : DELIMITERS) {
    const [head, ...records] = csv(rest, delimiter);
    const names = head ? plain(head.fields) : [];
    const at = columns(names);
    if (at) {
      const restrict = restrictions(names);
      const [textsOf, optionsOf] = [texts(names), options(names)];
      return records.map((record) => {
        const more = { ...textsOf(record.fields), ...optionsOf(record.fields) };
        return restricted(shifted(fromColumns(record, at, more), declared ? 1 : 0), restrict(record.fields));
      });
    }
  }
  return csv(rest, declared ?? simpleDelimiter(rest)).map(({ line, text: own, fields }) =>
    shifted(checked(line, own, withScheme(fields[0] ?? ""), fields[1] ?? ""), declared ? 1 : 0),
  );
}

/** @param {string} url @returns {string} the URL, with `https://` in front if it has no scheme */
const withScheme = (url) => (/^[a-z]+:/i.test(url) ? url : asUrl(url));

/** @param {Line} line @param {number} by number of preceding lines @returns {Line} */
const shifted = (line, by) => ({ ...line, line: line.line + by });

/** @param {Line} line @param {import("./import-restrictions.js").Restricted} by @returns {Line} */
function restricted(line, { restriction, period }) {
  if (!("row" in line)) return line;
  const isDated = Object.keys(period).length > 0;
  return { ...line, row: { ...line.row, ...period }, ...(isDated && { isDated }), ...(restriction && { restriction }) };
}

/** @param {string} text @returns {string} the delimiter between a URL and its code */
const simpleDelimiter = (text) => DELIMITERS.slice(1).find((one) => text.includes(one) && !text.includes(",")) ?? ",";

/**
 * @param {number} line @param {string} text @param {string} url @param {string} code @param {string} [rules] JSON
 * @param {More} [more]
 * @returns {Line}
 */
function checked(line, text, url, code, rules = "", more = {}) {
  if (url === "") return { line, text, fault: "noAddress" };
  const row = { url, code: code || null, ...more };
  if (rules !== "") {
    try {
      const list = JSON.parse(rules);
      if (!Array.isArray(list)) return { line, text, fault: "noRules" };
      return measured({ line, text, row: { ...row, rules: list } });
    } catch {
      return { line, text, fault: "noRules" };
    }
  }
  return measured({ line, text, row });
}

/**
 * @param {{line: number, text: string, row: Row}} line @returns {Line} with the fault `tooLong` if the line is too long
 *   for a request
 */
const measured = (line) =>
  sizeOf(line.row) > MAX_BYTES ? { line: line.line, text: line.text.slice(0, 200), fault: "tooLong" } : line;

/** @param {number} line @param {string} text @param {unknown} value @returns {Line} */
function fromJson(line, text, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { line, text, fault: "noJson" };
  const { url, code, slug, rules } = /** @type {Record<string, unknown>} */ (value);
  if (typeof url !== "string" || url === "") return { line, text, fault: "noAddress" };
  const known = [code, slug].find((one) => typeof one === "string" && one !== "");
  const names = plain(Object.keys(value));
  const values = Object.values(value).map((one) => (Array.isArray(one) ? JSON.stringify(one) : String(one ?? "")));
  const more = { ...texts(names)(values), ...options(names)(values) };
  const row = { url, code: typeof known === "string" ? known : null, ...more };
  if (rules !== undefined && rules !== null && !Array.isArray(rules)) return { line, text, fault: "noRules" };
  return restricted(measured({ line, text, row: { ...row, ...(rules && { rules }) } }), restrictions(names)(values));
}

/** @param {string} text @returns {Line[] | undefined} the links of a single JSON object, the export format of Sink */
function jsonDocument(text) {
  try {
    const { links } = /** @type {{links?: unknown}} */ (JSON.parse(text));
    return Array.isArray(links) ? jsonList(JSON.stringify(links)) : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} text @returns {Line[]} */
function jsonLines(text) {
  return text.split("\n").flatMap((own, i) => {
    const trimmed = own.trim();
    if (trimmed === "") return [];
    try {
      return [fromJson(i + 1, trimmed, JSON.parse(trimmed))];
    } catch {
      return [{ line: i + 1, text: trimmed, fault: /** @type {const} */ ("noJson") }];
    }
  });
}

/** @param {string} text @returns {Line[]} with the position in the list, counted from 1, as the line number */
function jsonList(text) {
  try {
    const list = /** @type {unknown[]} */ (JSON.parse(text));
    return list.map((one, i) => fromJson(i + 1, JSON.stringify(one), one));
  } catch {
    return [{ line: 1, text: text.trim().slice(0, 200), fault: "noJson" }];
  }
}

/** @typedef {{line: number, text: string, fields: string[]}} Entry a record of a CSV file */

/** @param {string} text @param {string} delimiter @returns {Entry[]} without empty records */
function csv(text, delimiter) {
  /** @type {Entry[]} */
  const records = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const begin = at;
    const began = line;
    /** @type {string[]} */
    const fields = [];
    for (let ended = false; !ended;) {
      let field = "";
      if (text[at] === '"') {
        at += 1;
        while (at < text.length) {
          const close = text.indexOf('"', at);
          const end = close < 0 ? text.length : close;
          field += text.slice(at, end);
          at = end + 1;
          if (text[at] !== '"') break;
          field += '"';
          at += 1;
        }
      }
      const from = at;
      while (at < text.length && text[at] !== delimiter && text[at] !== "\n") at += 1;
      fields.push((field + text.slice(from, at)).trim());
      ended = text[at] !== delimiter;
      at += 1;
    }
    const own = text.slice(begin, at).trim();
    line += text.slice(begin, at).split("\n").length - 1;
    if (fields.some(Boolean)) records.push({ line: began, text: own, fields });
  }
  return records;
}

/** @typedef {{url: number, code: number, short: number, rules: number}} Columns -1 if missing */

/** @param {string[]} names @returns {string[]} in lower case, letters and digits only */
const plain = (names) => names.map((name) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ""));

/** @param {string[]} names normalized @returns {Columns | undefined} undefined if the columns are not recognized */
function columns(names) {
  /** @param {string[]} known */
  const first = (known) => known.map((name) => names.indexOf(name)).find((place) => place >= 0) ?? -1;
  const [url, code, short] = [first(ADDRESSES), first(CODES), first(SHORT_ADDRESSES)];
  if (url < 0 || (code < 0 && short < 0 && names.length > 1)) return undefined;
  return { url, code, short, rules: first(RULES) };
}

/** @param {Entry} entry @param {Columns} at @param {More} more @returns {Line} */
function fromColumns({ line, text, fields }, at, more) {
  const field = (/** @type {number} */ place) => fields[place] ?? "";
  const code = field(at.code) || codeOf(field(at.short));
  return checked(line, text, field(at.url), code, field(at.rules), more);
}

/**
 * @param {string} address @returns {string} the code in a short URL: `abc` for `https://sho.rt/abc?x` and `sho.rt/abc`
 */
function codeOf(address) {
  const rest = address.replace(/^[a-z]+:\/\//i, "");
  const slash = rest.indexOf("/");
  return slash < 0 ? rest : (rest.slice(slash + 1).split(/[?#]/)[0] ?? "");
}

/** @param {unknown} value @returns {number} size of its JSON, in bytes */
const sizeOf = (value) => new TextEncoder().encode(JSON.stringify(value)).length + 1;

/**
 * @template {{row: Row}} T
 * @param {T[]} lines
 * @returns {T[][]} the lines of each request
 */
export function inRequests(lines) {
  /** @type {T[][]} */
  const requests = [];
  let size_bytes = Infinity;
  for (const line of lines) {
    const own_bytes = sizeOf(line.row);
    if (size_bytes + own_bytes > MAX_BYTES || (requests.at(-1)?.length ?? 0) >= MAX_ROWS) {
      requests.push([]);
      size_bytes = 0;
    }
    requests.at(-1)?.push(line);
    size_bytes += own_bytes;
  }
  return requests;
}

/**
 * @param {ArrayBuffer} file @returns {string} the text, decoded as the byte order mark indicates; without one, as UTF-8
 *   or Windows-1252
 */
export function decoded(file) {
  const [first, second] = new Uint8Array(file, 0, Math.min(2, file.byteLength));
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(file);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(file);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch {
    return new TextDecoder("windows-1252").decode(file);
  }
}
