/** The bootstrap token of a connect operation or a renewal: how to create it, its permissions and its form field. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { TOKEN_PAGE } from "../remedies.js";
import { Field } from "../ui/form.jsx";
import { Help } from "../ui/help.jsx";
import { Copy, Mark } from "../ui/parts.jsx";
import { t } from "../words.js";

/** The prefix of Cloudflare's pages. Links from the API are shown only if they begin with it. */
const PLATFORM = "https://dash.cloudflare.com/";
const TOKENS = `${PLATFORM}?to=/:account/api-tokens`;
/** The placeholder for an account ID in links to the dashboard. Cloudflare then asks for the account. */
const ANY_ACCOUNT = ":account";
const RIGHTS = ["Account Settings Read", "Account API Tokens Write"];

/** @param {string} right the API's name @returns {string} Cloudflare's label, such as `Account Settings: Read` */
const shownRight = (right) => right.replace(/ (Read|Write)$/, (_, may) => (may === "Read" ? ": Read" : ": Edit"));

/**
 * @param {string} token
 * @returns {"user" | "global" | ""} the wrong kind of token, recognized by its prefix or the format of a global key
 */
function wrongKind(token) {
  if (token.startsWith("cfut_")) return "user";
  return token.startsWith("cfk_") || /^[0-9a-f]{37,45}$/.test(token) ? "global" : "";
}

/**
 * @param {import("../http.js").ApiError | null} refused @returns {string[]} the permissions that the token of this
 *   attempt lacked
 */
function missingRights(refused) {
  const named = refused?.code === "bootstrap_permission_error" && refused.details.missing;
  return Array.isArray(named) ? named.map(String) : [];
}

/** If a request takes longer than this, the form says what it is waiting for. */
const LONG_MS = 3_000;

/** @param {{href: string, quiet?: boolean, children: import("preact").ComponentChildren}} props */
export function Outside({ href, quiet = false, children }) {
  return (
    <a class={quiet ? undefined : "button"} href={href} target="_blank" rel="noopener noreferrer">
      {children}
      <span class="unseen"> ({t().common.newTab})</span>
    </a>
  );
}

/**
 * @param {{refused: import("../http.js").ApiError | null, account: string}} props `refused`: the error of the last
 *   attempt; `account`: the account ID, or "" if it is not known
 */
export function MakeToken({ refused, account }) {
  const words = t().account.token;
  const missing = missingRights(refused);
  const named = String(refused?.details.token_page ?? "");
  const page = named.startsWith(PLATFORM) ? named : TOKEN_PAGE;
  return (
    <>
      <p>{account ? words.intro : words.anyIntro}</p>
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
        <Outside href={page.replace(ANY_ACCOUNT, account || ANY_ACCOUNT)}>{words.open}</Outside>
      </p>
      <p class="small">{words.who}</p>
      <p>
        <Help to="token" />
      </p>
    </>
  );
}

/**
 * The form field for the bootstrap token. Warns during input if the token is of the wrong kind. The browser does not
 * store the token.
 */
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
      <p role="status" class="result">
        {wrong.value && <Mark kind="watch">{words.kinds[wrong.value]}</Mark>}
      </p>
    </>
  );
}

/**
 * A text that appears while a request takes longer than a few seconds.
 * @param {{text: import("preact").ComponentChildren}} props `text`: null if no request is running
 */
export const Waiting = ({ text }) => (
  <div role="status" class="small">
    {text && <Late>{text}</Late>}
  </div>
);

/** @param {{children: import("preact").ComponentChildren}} props shown after `LONG_MS` */
function Late({ children }) {
  const shown = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (shown.value = true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  return shown.value ? <p>{children}</p> : null;
}

/** Tokens that may still be valid and that the user must delete. @param {{names: string[]}} props */
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
            <code id={`token-${name}`}>{name}</code> <Copy text={name} shownIn={`token-${name}`} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A note that the bootstrap token is still valid. @param {{details: Record<string, unknown>}} props of the error */
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

/** @param {Record<string, unknown> | undefined} details of an error @returns {string[]} names of tokens to revoke */
export function toRevoke(details) {
  const names = details?.revoke_tokens ?? details?.revoke_token ?? [];
  return (Array.isArray(names) ? names : [names]).map(String);
}
