/** The snippet of a site with the steps for its platform, its Content-Security-Policy, and a text for a developer. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { codeFor, formsOf, hasPolicy, keepPlatform, keptPlatform, PLATFORMS, policyOf } from "../platforms.js";
import { t } from "../words.js";
import { Choice } from "./choice.jsx";
import { Help } from "./help.jsx";
import { Copy } from "./parts.jsx";

/**
 * @typedef {import("../platforms.js").Form} Form
 * @typedef {import("../platforms.js").Platform} Platform
 */

/** @param {{site: import("../wire").Site}} props */
export function SnippetSection({ site }) {
  const words = t().sites;
  return (
    <section aria-labelledby="snippet">
      <h2 id="snippet">{words.snippet}</h2>
      <p>
        {words.snippetHint} <Help to="snippet" />
      </p>
      {site.snippet && <Snippet site={site} snippet={site.snippet} />}
    </section>
  );
}

/** @param {{site: import("../wire").Site, snippet: import("../wire").Snippet}} props */
export function Snippet({ site, snippet }) {
  const words = t().sites;
  const install = t().install;
  const platform = useSignal(keptPlatform(site.id));
  const form = useSignal(/** @type {Form} */ ("inline"));
  const id = useId();
  const chosen = platform.value;
  const forms = formsOf(chosen);
  const shown = forms.includes(form.value) ? form.value : /** @type {Form} */ (forms[0]);
  /** @param {KeyboardEvent & {currentTarget: HTMLElement}} event */
  const other = (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    form.value = forms.find((one) => one !== shown) ?? shown;
    document.getElementById(`${id}-${form.value}`)?.focus();
  };
  const code = codeFor(chosen, shown, snippet);
  return (
    <div class="snippet">
      <Choice
        label={install.platform}
        value={chosen}
        options={
          /** @type {Record<Platform, string>} */ (
            Object.fromEntries(PLATFORMS.map((one) => [one, install.platforms[one]]))
          )
        }
        choose={(one) => {
          platform.value = one;
          keepPlatform(site.id, one);
        }}
      />
      <ol>
        {install.steps[chosen].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {forms.length > 1 && (
        <div class="tabs" role="tablist" aria-label={words.snippet} onKeyDown={other}>
          {forms.map((one) => (
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
      )}
      <div id={`${id}-panel`} {...(forms.length > 1 && { role: "tabpanel", "aria-labelledby": `${id}-${shown}` })}>
        <p class="small">{words.formHints[shown]}</p>
        <Code id={`${id}-code`} text={code} copy={words.copySnippet} />
        {install.notes[chosen] && <p class="small">{install.notes[chosen]}</p>}
        {hasPolicy(chosen) && (
          <details>
            <summary>{words.policy}</summary>
            <p>{words.policyHint}</p>
            <Code id={`${id}-policy`} text={policyOf(snippet, shown)} copy={words.copyPolicy} />
          </details>
        )}
      </div>
      <Developer host={site.host} platform={chosen} code={code} policy={policyOf(snippet, shown)} />
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

/**
 * A text that the user can send to the person who maintains the site.
 * @param {{host: string, platform: Platform, code: string, policy: string}} props
 */
function Developer({ host, platform, code, policy }) {
  const { developer, steps } = t().install;
  const id = useId();
  const text = [
    developer.intro(host),
    code,
    steps[platform].map((step, i) => `${i + 1}. ${step}`).join("\n"),
    ...(hasPolicy(platform) ? [`${developer.policy}\n${policy}`] : []),
    `${developer.more} ${location.origin}/help/use/snippet`,
  ].join("\n\n");
  const mail = `mailto:?subject=${encodeURIComponent(developer.subject(host))}&body=${encodeURIComponent(text.replaceAll("\n", "\r\n"))}`;
  return (
    <details>
      <summary>{developer.title}</summary>
      <div class="code">
        <pre id={`${id}-text`}>{text}</pre>
        <span class="actions">
          <Copy text={text} shownIn={`${id}-text`} label={developer.copy} />
          <a class="button quiet" href={mail}>
            {developer.email}
          </a>
        </span>
      </div>
    </details>
  );
}
