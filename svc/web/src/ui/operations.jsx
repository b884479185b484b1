/** The list of API operations, with a filter. The URL contains the filter and the open operation. */

import { useEffect, useRef } from "preact/hooks";

import { useKeys } from "../keys.js";
import { address, setSearch } from "../router.js";
import { t } from "../words.js";
import { Operation } from "./operation.jsx";
import { Copy } from "./parts.jsx";
import { Text } from "./text.jsx";

/** @typedef {{method: string, path: string, about: any}} Listed */

/** @param {any} contract @returns {Listed[]} */
const listed = (contract) =>
  Object.entries(contract.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => ({ method: method.toUpperCase(), path, about })),
  );

/** @param {Listed} operation @param {string} q @returns {boolean} true if it contains all words of the filter */
const fits = ({ method, path, about }, q) =>
  q
    .toLowerCase()
    .split(/\s+/)
    .every((part) => `${method} ${path} ${about.summary} ${about.tags}`.toLowerCase().includes(part));

/** @param {{contract: any}} props */
export function Operations({ contract }) {
  const words = t().reference;
  const search = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { searchParams } = address.value;
  const q = searchParams.get("q") ?? "";
  const open = searchParams.get("op");
  useKeys([{ keys: "/", says: t().common.shortcuts.search, does: () => search.current?.focus() }]);
  const found = listed(contract).filter((one) => fits(one, q));
  return (
    <>
      <p>{words.intro}</p>
      <QuickStart />
      <Basics />
      <p class="field column">
        <label for="filter">{words.filter}</label>
        <input
          id="filter"
          ref={search}
          type="search"
          value={q}
          autocomplete="off"
          onInput={(event) => setSearch({ q: event.currentTarget.value })}
          onKeyDown={(event) => event.key === "Escape" && (q ? setSearch({ q: null }) : search.current?.blur())}
        />
      </p>
      <p role="status" class="small">
        {q && words.found(found.length)}
      </p>
      {contract.tags.map((/** @type {{name: string, description: string}} */ { name, description }) => {
        const own = found.filter(({ about }) => about.tags.includes(name));
        if (own.length === 0) return null;
        return (
          <section key={name} aria-labelledby={`tag-${name}`}>
            <h2 id={`tag-${name}`} class="tag">
              {name}
            </h2>
            <p lang="en">
              <Text text={description} />
            </p>
            <div class="operations">
              {own.map((one) => (
                <Entry
                  key={one.about.operationId}
                  operation={one}
                  open={open === one.about.operationId}
                  contract={contract}
                />
              ))}
            </div>
          </section>
        );
      })}
    </>
  );
}

/** Three example requests for a new API client. */
function QuickStart() {
  const words = t().reference.quick;
  const { origin } = location;
  const steps = [
    {
      title: words.key,
      more: (
        <>
          {words.keyText} <a href="/keys">{words.toKeys}</a>
        </>
      ),
      command: [
        `curl ${origin}/v1/keys`,
        '-H "Authorization: Bearer ACCESS_TOKEN" -H "Content-Type: application/json"',
        `-d '{"name": "First program", "scopes": ["sites", "reports"]}'`,
      ],
    },
    { title: words.sites, command: [`curl ${origin}/v1/sites`, '-H "Authorization: Bearer API_KEY"'] },
    {
      title: words.report,
      command: [`curl '${origin}/v1/sites/SITE_ID/report?period=7d'`, '-H "Authorization: Bearer API_KEY"'],
    },
  ];
  return (
    <section aria-labelledby="quick-start">
      <h2 id="quick-start">{words.title}</h2>
      <ol class="quick-start">
        {steps.map(({ title, more, command }, i) => (
          <li key={title}>
            <p>
              <strong>{title}</strong> {more}
            </p>
            <pre class="verbatim" tabIndex={0}>
              <code id={`quick-${i}`}>{command.join(" \\\n  ")}</code>
            </pre>
            <Copy text={command.join(" \\\n  ")} shownIn={`quick-${i}`} label={words.copy} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The conventions that apply to all operations. */
function Basics() {
  const words = t().reference;
  return (
    <section aria-labelledby="conventions">
      <h2 id="conventions">{words.conventions}</h2>
      <ul>
        <li>{words.credential}</li>
        <li>{words.errors}</li>
        <li>{words.writes}</li>
      </ul>
      <p class="small">
        {words.programs} <a href="/openapi.json">/openapi.json</a> · <a href="/openapi.yaml">/openapi.yaml</a> ·{" "}
        <a href="/reference.md">/reference.md</a>
      </p>
    </section>
  );
}

/** @param {{operation: Listed, open: boolean, contract: any}} props */
function Entry({ operation: { method, path, about }, open, contract }) {
  const id = about.operationId;
  const entry = useRef(/** @type {HTMLDivElement | null} */ (null));
  // Scroll to the operation that the URL names.
  useEffect(() => {
    if (open) entry.current?.scrollIntoView({ block: "start" });
  }, []);
  return (
    <div ref={entry} class={open ? "entry open" : "entry"}>
      <h3>
        <button
          type="button"
          class="entry-head"
          aria-expanded={open}
          aria-controls={open ? id : undefined}
          onClick={() => setSearch({ op: open ? null : id })}
        >
          <code class="method">{method}</code> <code class="path">{path}</code>{" "}
          <span class="summary" lang="en">
            <Text text={about.summary} />
          </span>
        </button>
      </h3>
      {open && (
        <div id={id} class="entry-body">
          <Operation method={method} path={path} about={about} contract={contract} />
        </div>
      )}
    </div>
  );
}
