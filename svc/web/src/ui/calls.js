/** Code samples of a request in curl, Python and JavaScript. Pure functions. */

/**
 * @typedef {{method: string, url: string, headers: Record<string, string>, body: string}} Request `body`: JSON, or "".
 *   `$SVC_KEY` is the placeholder for a credential in a header
 */

/** @param {string} text @returns {string} the text quoted as one word for a shell */
const word = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {Request} request @returns {string} */
function curl({ method, url, headers, body }) {
  const parts = [`curl ${method === "GET" ? "" : `-X ${method} `}${word(url)}`];
  for (const [name, value] of Object.entries(headers)) {
    // Use double quotes, so that the shell expands the variable with the key.
    parts.push(name === "Authorization" ? `-H "${name}: ${value}"` : `-H ${word(`${name}: ${value}`)}`);
  }
  if (body) parts.push(`--data ${word(body)}`);
  return parts.join(" \\\n  ");
}

/** @param {unknown} value of JSON @returns {string} the value as a Python literal */
function python(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${python(each)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** @param {Record<string, string>} headers @param {string} key expression that reads the key */
function entries(headers, key) {
  return Object.entries(headers).map(([name, value]) => {
    const [begin = ""] = value.split("$SVC_KEY");
    const shown = name === "Authorization" ? `${JSON.stringify(begin)} + ${key}` : JSON.stringify(value);
    return `    ${JSON.stringify(name)}: ${shown},\n`;
  });
}

/** @param {Request} request @returns {string} */
function httpx({ method, url, headers, body }) {
  const rest = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "Content-Type"));
  const shown = entries(rest, 'os.environ["SVC_KEY"]').join("");
  const begin = shown.includes("os.environ") ? "import os\n\nimport httpx\n\n" : "import httpx\n\n";
  const sent = body ? `    json=${python(JSON.parse(body))},\n` : "";
  const given = shown ? `    headers={\n${shown.replace(/^/gm, "    ").trimEnd()}\n    },\n` : "";
  const call = `response = httpx.request(\n    ${JSON.stringify(method)},\n    ${JSON.stringify(url)},\n`;
  return `${begin}${call}${given}${sent})\nprint(response.status_code, response.text)`;
}

/** @param {Request} request @returns {string} */
function javascript({ method, url, headers, body }) {
  const shown = entries(headers, "process.env.SVC_KEY").join("").replace(/^/gm, "  ").trimEnd();
  const sent = body ? `  body: JSON.stringify(${JSON.stringify(JSON.parse(body))}),\n` : "";
  const given = shown ? `  headers: {\n${shown}\n  },\n` : "";
  const options = `{\n  method: ${JSON.stringify(method)},\n${given}${sent}}`;
  return `const response = await fetch(${JSON.stringify(url)}, ${options});\nconsole.log(response.status, await response.text());`;
}

/** Label of the language → function that generates the sample. */
export const CALLS = { curl, "Python (httpx)": httpx, JavaScript: javascript };
