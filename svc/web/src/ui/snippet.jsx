/** The snippet of a site in two forms, and the Content-Security-Policy that it requires. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { t } from "../words.js";
import { Copy } from "./parts.jsx";

/** @typedef {"inline" | "script_tag"} Form */

/** @type {Form[]} */
const FORMS = ["inline", "script_tag"];

/** @param {{snippet: import("../wire").Snippet}} props */
export function Snippet({ snippet }) {
  const words = t().sites;
  const form = useSignal(/** @type {Form} */ ("inline"));
  const id = useId();
  const shown = form.value;
  /** @param {KeyboardEvent & {currentTarget: HTMLElement}} event */
  const other = (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    form.value = shown === "inline" ? "script_tag" : "inline";
    document.getElementById(`${id}-${form.value}`)?.focus();
  };
  // The script tag needs no hash, as the code comes from the host itself.
  const allowed = shown === "inline" ? `'${snippet.csp_hash}'` : "'self'";
  return (
    <div class="snippet">
      <div class="tabs" role="tablist" aria-label={words.snippet} onKeyDown={other}>
        {FORMS.map((one) => (
          <button
            key={one}
            type="button"
            class="tab"
            role="tab"
            id={`${id}-${one}`}
            aria-selected={one === shown}
            aria-controls={`${id}-panel`}
            tabIndex={one === shown ? 0 : -1}
            onClick={() => (form.value = one)}
          >
            {words.forms[one]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${shown}`}>
        <p class="small">{words.formHints[shown]}</p>
        <Code id={`${id}-code`} text={snippet[shown]} copy={words.copySnippet} />
        <details>
          <summary>{words.policy}</summary>
          <p>{words.policyHint}</p>
          <Code id={`${id}-policy`} text={`script-src ${allowed}; connect-src 'self'`} copy={words.copyPolicy} />
        </details>
      </div>
    </div>
  );
}

/** @param {{id: string, text: string, copy: string}} props */
const Code = ({ id, text, copy }) => (
  <div class="code">
    <pre id={id}>{text}</pre>
    <Copy text={text} shownIn={id} label={copy} />
  </div>
);
