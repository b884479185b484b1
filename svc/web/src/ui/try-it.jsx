/** The form that sends a real API request, with the user's session or an API key. */

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";

import { fill, newKey } from "../api.js";
import { bytes, number } from "../format.js";
import { ApiError } from "../http.js";
import { freshToken, user } from "../session.js";
import { t } from "../words.js";
import { CALLS } from "./calls.js";
import { Copy, ErrorMessage, Note } from "./parts.jsx";
import { useWrite } from "./write.js";

/**
 * @typedef {{status: number, took_ms: number, headers: [string, string][], size_bytes: number, text: string | null}}
 *   Seen a response; `text`: null if it is not text
 */

// The page shows only the beginning of longer bodies, because rendering them would block the page.
const SHOWN_CHARACTERS = 100_000;
const READABLE = /json|text|yaml|svg|csv/;

/**
 * @param {{
 *   method: string,
 *   path: string,
 *   about: any,
 *   access: "anybody" | "bearer" | "session" | "worker" | "refresh",
 *   example: unknown,
 * }} props
 */
export function TryIt({ method, path, about, access, example }) {
  const words = t().reference;
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const seen = useSignal(/** @type {Seen | null} */ (null));
  const shown = useSignal(/** @type {import("./calls.js").Request | null} */ (null));
  const bySession = useSignal(Boolean(user.value));
  const { busy, error, run } = useWrite();
  // Offer no form for operations that need the refresh cookie, because only the web application can use them.
  if (access === "refresh") return <p class="small">{words.onlyCookie}</p>;
  const takesCredential = access !== "anybody";
  const offersSession = (access === "bearer" || access === "session") && Boolean(user.value);
  const withSession = offersSession && bySession.value;
  const write = method !== "GET";
  const body = example === undefined ? "" : JSON.stringify(example, null, 2);

  const submitted = (/** @type {Event} */ event) => {
    event.preventDefault();
    const values = new FormData(form.current ?? undefined);
    run(async () => {
      seen.value = null;
      const request = requestOf(method, path, about, values, takesCredential);
      shown.value = request;
      const credential = withSession ? await freshToken() : String(values.get("credential") ?? "").trim();
      seen.value = await sent(request, credential);
    });
  };
  return (
    <section class="try-it" aria-label={words.tryIt}>
      <h4>{words.tryIt}</h4>
      <form ref={form} onSubmit={submitted}>
        {write && <Note kind="watch">{words.real}</Note>}
        <div class="choices">
          {takesCredential && (
            <Credential session={offersSession} bySession={bySession} label={access === "worker" ? words.worker : ""} />
          )}
          {about.parameters.map((/** @type {any} */ one) => (
            <Parameter key={one.name} parameter={one} />
          ))}
        </div>
        {body && <BodyField text={body} />}
        <p class="actions">
          <button type="submit" aria-disabled={busy}>
            {busy ? t().common.busy : words.send(method)}
          </button>
        </p>
      </form>
      {error && <ErrorMessage error={error} />}
      {seen.value && <ReceivedResponse seen={seen.value} />}
      {shown.value && <Written request={shown.value} />}
    </section>
  );
}

/** @param {{session: boolean, bySession: import("@preact/signals").Signal<boolean>, label: string}} props */
function Credential({ session, bySession, label }) {
  const words = t().reference;
  const id = useId();
  return (
    <>
      {session && (
        <p class="field">
          <label for={`${id}-by`}>{words.as}</label>
          <select
            id={`${id}-by`}
            value={bySession.value ? "session" : "key"}
            onChange={(event) => (bySession.value = event.currentTarget.value === "session")}
          >
            <option value="session">{words.session}</option>
            <option value="key">{words.key}</option>
          </select>
        </p>
      )}
      {!(session && bySession.value) && (
        <p class="field">
          <label for={id}>{label || words.key}</label>
          <input id={id} name="credential" type="password" autocomplete="off" placeholder={label ? "" : "svc_…"} />
        </p>
      )}
    </>
  );
}

/** @param {{parameter: any}} props */
function Parameter({ parameter: { name, required, schema } }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>
        <code>{name}</code>
        {!required && <span class="small"> {t().reference.absent}</span>}
      </label>
      {schema.enum ? (
        <select id={id} name={name}>
          {!required && <option value=""> </option>}
          {schema.enum.map((/** @type {string} */ value) => (
            <option key={value} value={value}>
              {value}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          name={name}
          required={required}
          autocomplete="off"
          spellcheck={false}
          defaultValue={name === "Idempotency-Key" ? newKey() : ""}
        />
      )}
    </p>
  );
}

/** @param {{text: string}} props */
function BodyField({ text }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{t().reference.body}</label>
      <textarea
        id={id}
        name="body"
        class="typed"
        rows={Math.min(16, text.split("\n").length + 1)}
        spellcheck={false}
        defaultValue={text}
      />
    </p>
  );
}

/**
 * @param {string} method @param {string} path @param {any} about @param {FormData} values @param {boolean} credential
 * @returns {import("./calls.js").Request} for display, with `$SVC_KEY` in place of the credential
 * @throws {ApiError} the body is not valid JSON
 */
function requestOf(method, path, about, values, credential) {
  /** @type {Record<string, string>} */
  const params = {};
  /** @type {Record<string, string>} */
  const headers = credential ? { Authorization: "Bearer $SVC_KEY" } : {};
  for (const { name, in: where } of about.parameters) {
    const value = String(values.get(name) ?? "").trim();
    if (where === "header") {
      if (value) headers[name] = value;
    } else params[name] = value;
  }
  const typed = String(values.get("body") ?? "").trim();
  if (typed) headers["Content-Type"] = "application/json";
  try {
    const body = typed && JSON.stringify(JSON.parse(typed));
    return { method, url: location.origin + fill(path, params), headers, body };
  } catch {
    throw new ApiError("invalid_request", t().reference.noJson);
  }
}

/**
 * Send the request and return the response. A response with an error status does not throw.
 * @param {import("./calls.js").Request} request @param {string} credential
 * @returns {Promise<Seen>}
 * @throws {ApiError}
 */
async function sent({ method, url, headers, body }, credential) {
  const { Authorization, ...rest } = headers;
  const all = Authorization && credential ? { ...rest, Authorization: `Bearer ${credential}` } : rest;
  const began_at_ms = performance.now();
  try {
    /** @type {RequestInit} */
    const init = { method, headers: all, credentials: "omit", cache: "no-store" };
    const response = await fetch(url, body ? { ...init, body } : init);
    const content = await response.blob();
    const took_ms = performance.now() - began_at_ms;
    const readable = READABLE.test(response.headers.get("Content-Type") ?? "");
    const text = readable ? (await content.text()).slice(0, SHOWN_CHARACTERS) : null;
    return { status: response.status, took_ms, headers: [...response.headers], size_bytes: content.size, text };
  } catch {
    throw new ApiError("offline");
  }
}

/** @param {{seen: Seen}} props */
function ReceivedResponse({ seen: { status, took_ms, headers, size_bytes, text } }) {
  const words = t().reference;
  return (
    <div>
      <p role="status">
        <strong>{status}</strong> · {words.took(number(Math.round(took_ms)))} · {bytes(size_bytes)}
      </p>
      <details>
        <summary>{words.headers}</summary>
        <pre class="verbatim" tabIndex={0}>
          <code>{headers.map(([name, value]) => `${name}: ${value}`).join("\n")}</code>
        </pre>
      </details>
      {text === null ? (
        <p>{words.noText}</p>
      ) : (
        <pre class="verbatim tall" tabIndex={0} aria-label={words.response(String(status))}>
          <code>{indented(text)}</code>
        </pre>
      )}
    </div>
  );
}

/** @param {string} text @returns {string} indented if it is JSON, otherwise unchanged */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {{request: import("./calls.js").Request}} props */
function Written({ request }) {
  const chosen = useSignal(/** @type {keyof typeof CALLS} */ ("curl"));
  const id = useId();
  const text = CALLS[chosen.value](request);
  return (
    <>
      <p class="field column">
        <label for={`${id}-as`}>{t().reference.asCode}</label>
        <select
          id={`${id}-as`}
          value={chosen.value}
          onChange={(event) => (chosen.value = /** @type {keyof typeof CALLS} */ (event.currentTarget.value))}
        >
          {Object.keys(CALLS).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </p>
      <pre class="verbatim" tabIndex={0}>
        <code id={id}>{text}</code>
      </pre>
      <p>
        <Copy text={text} shownIn={id} />
      </p>
    </>
  );
}
