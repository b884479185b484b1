/** The bootstrap token, for a connect and for a renewal: where it is made, with which rights, and its field. */

import { useSignal } from "@preact/signals";

import { TOKEN_PAGE } from "../remedies.js";
import { Field } from "../ui/form.jsx";
import { Copy, Mark } from "../ui/parts.jsx";
import { t } from "../words.js";

/** What the edge platform's pages begin with: no other page is opened by what an answer names. */
const PLATFORM = "https://dash.cloudflare.com/";
const TOKENS = `${PLATFORM}?to=/:account/api-tokens`;
const RIGHTS = ["Account Settings Read", "Account API Tokens Write"];

/** @param {string} right as the API names it @returns {string} as the platform's pages do: `Account Settings: Read` */
const shownRight = (right) => right.replace(/ (Read|Write)$/, (_, may) => (may === "Read" ? ": Read" : ": Edit"));

/**
 * @param {string} token
 * @returns {"user" | "global" | ""} which wrong kind it shows itself to be, by its prefix or as an old global key
 */
function wrongKind(token) {
  if (token.startsWith("cfut_")) return "user";
  return token.startsWith("cfk_") || /^[0-9a-f]{37,45}$/.test(token) ? "global" : "";
}

/** @param {import("../http.js").ApiError | null} refused @returns {string[]} the rights that its token lacked */
function missingRights(refused) {
  const named = refused?.code === "bootstrap_permission_error" && refused.details.missing;
  return Array.isArray(named) ? named.map(String) : [];
}

/** @param {{href: string, quiet?: boolean, children: import("preact").ComponentChildren}} props */
function Outside({ href, quiet = false, children }) {
  return (
    <a class={quiet ? undefined : "button"} href={href} target="_blank" rel="noopener noreferrer">
      {children}
      <span class="unseen"> ({t().account.newTab})</span>
    </a>
  );
}

/** @param {{refused: import("../http.js").ApiError | null}} props `refused`: why the last token was of no use */
export function MakeToken({ refused }) {
  const words = t().account.token;
  const missing = missingRights(refused);
  const named = String(refused?.details.token_page ?? "");
  return (
    <>
      <p>{words.intro}</p>
      <ul class="token-rights">
        {[...new Set([...RIGHTS, ...missing])].map((right) => (
          <li key={right}>
            <code>{shownRight(right)}</code>{" "}
            {missing.includes(right) && (
              <Mark kind="bad">
                <strong>{words.missing}</strong>
              </Mark>
            )}
          </li>
        ))}
        <li>{words.ends}</li>
      </ul>
      <p>
        <Outside href={named.startsWith(PLATFORM) ? named : TOKEN_PAGE}>{words.open}</Outside>
      </p>
      <p class="small">{words.who}</p>
    </>
  );
}

/** The field for it. A token of a wrong kind is told while it is typed; nothing of it is kept. */
export function TokenField() {
  const words = t().account.token;
  const wrong = useSignal(/** @type {"user" | "global" | ""} */ (""));
  return (
    <>
      <Field
        name="bootstrap_token"
        label={words.label}
        hint={words.hint}
        type="password"
        autocomplete="off"
        required
        onInput={(/** @type {InputEvent} */ event) => {
          if (event.target instanceof HTMLInputElement) wrong.value = wrongKind(event.target.value.trim());
        }}
      />
      <p role="status" class="told">
        {wrong.value && <Mark kind="watch">{words.kinds[wrong.value]}</Mark>}
      </p>
    </>
  );
}

/** @param {{names: string[]}} props names of tokens that may be alive, which only a person can delete */
export function Revoke({ names }) {
  const words = t().account.revoke;
  if (names.length === 0) return null;
  return (
    <div class="revoke">
      <p>
        {words.title}{" "}
        <Outside href={TOKENS} quiet>
          {words.open}
        </Outside>
      </p>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <code id={`token-${name}`}>{name}</code> <Copy text={name} of={`token-${name}`} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** @param {{details: Record<string, unknown>}} props of a final refusal, after which the bootstrap token still works */
export function StillValid({ details: { bootstrap_token } }) {
  const words = t().account.wizard;
  if (!bootstrap_token) return null;
  return (
    <p>
      {words.stillValid}{" "}
      <Outside href={TOKENS} quiet>
        {t().account.revoke.open}
      </Outside>
    </p>
  );
}

/** @param {Record<string, unknown> | undefined} details of an error @returns {string[]} */
export function toRevoke(details) {
  const names = details?.revoke_tokens ?? details?.revoke_token ?? [];
  return (Array.isArray(names) ? names : [names]).map(String);
}
