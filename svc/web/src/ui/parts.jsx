/** What pages are made of: their frame, states, troubles, empty places, text to copy. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { span } from "../format.js";
import { unreachable } from "../http.js";
import { arrived } from "../router.js";
import { t } from "../words.js";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * A page: its title in the window and as the heading, which takes the focus after a navigation.
 * @param {{title: string, head?: Children, children?: Children, narrow?: boolean, focus?: boolean}} props `head`:
 *   beside the heading; `focus`: it takes the focus also where it takes the place of another at the same address
 */
export function Page({ title, head, children, narrow = false, focus = false }) {
  const heading = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  useEffect(() => {
    document.title = `${title} · ${t().common.product}`;
  }, [title]);
  // In the same task as the heading appears, so that the next key already goes to the new page.
  useLayoutEffect(() => {
    if (arrived() || focus) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <main id="content" class={narrow ? "door" : undefined}>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {breakable(title)}
        </h1>
        {head}
      </div>
      {children}
    </main>
  );
}

/** @param {string} text @returns {Children} it may be broken behind the slashes of an address, or the dots of a host */
const breakable = (text) =>
  text
    .split(text.includes("/") ? /(?<=\/)(?=\S)/ : /(?<=\.)(?=\S)/)
    .flatMap((part, i) => (i > 0 ? [<wbr key={i} />, part] : part));

/** Shapes say what colours say: good, on its way, look at it, stopped, nothing of these. */
const SHAPES = { good: "●", busy: "◐", watch: "▲", bad: "■", none: "○" };

/** @type {Record<string, keyof typeof SHAPES>} */
const KINDS = {
  ready: "good",
  active: "good",
  synced: "good",
  pending: "busy",
  installing: "busy",
  route_pending: "busy",
  config_pending: "busy",
  connected: "watch",
  no_connection: "watch",
  route_conflict: "watch",
  bootstrap_lost: "bad",
  permission_error: "bad",
  revoked: "bad",
  resource_drift: "bad",
  deleted: "none",
};

/** @typedef {ReturnType<typeof t>["common"]["states"]} StateWords */

/** @param {{of: keyof StateWords}} props a state as a shape and a word */
export function State({ of }) {
  const kind = KINDS[of] ?? "none";
  return <Mark kind={kind}>{t().common.states[of] ?? of}</Mark>;
}

/** @param {{kind: keyof typeof SHAPES, children: Children}} props a shape, and the word that it stands for */
export function Mark({ kind, children }) {
  return (
    <span class={`mark ${kind}`}>
      <span class="shape" aria-hidden="true">
        {SHAPES[kind]}
      </span>
      {children}
    </span>
  );
}

/**
 * Seconds until a moment, drawn again each second.
 * @param {number | null} at_ms since 1970
 * @returns {number} 0 when it has come
 */
export function useCountdown(at_ms) {
  const left_s = at_ms === null ? 0 : Math.max(0, Math.ceil((at_ms - Date.now()) / 1_000));
  const drawn = useSignal(0);
  drawn.value;
  useEffect(() => {
    if (left_s === 0) return undefined;
    const timer = setInterval(() => (drawn.value += 1), 1_000);
    return () => clearInterval(timer);
  }, [at_ms, left_s === 0]);
  return left_s;
}

/** @param {import("../http.js").ApiError} error @returns {number | null} when it may be tried again, ms since 1970 */
export function useRetryAt(error) {
  const at = useRef({ error, ms: 0 });
  if (at.current.error !== error || at.current.ms === 0) {
    at.current = { error, ms: Date.now() + 1_000 * (error.retry_after_s ?? 0) };
  }
  return error.retry_after_s ? at.current.ms : null;
}

/** Behind these codes stands what Cloudflare says, to which the remedy refers. */
const QUOTES = ["cloudflare_error", "edge_firewall"];

/**
 * What is wrong in the reader's words, and what to do.
 * @param {{code?: string, message?: string, details?: Record<string, unknown>}} trouble
 * @returns {{message: string, remedy: string | null}}
 */
export function explain({ code = "", message = "", details = {} }) {
  const own = t().troubles[`${code}.${details.status}`] ?? t().troubles[code];
  const given = typeof details.remedy === "string" ? details.remedy : null;
  // What refuses the request is the account's own error: its remedy helps.
  const reason = code === "account_not_ready" && typeof details.reason === "string" ? details.reason : null;
  const remedy = reason !== null ? (t().troubles[reason]?.[1] ?? given) : own ? own[1] : given;
  if (!own) return { message: message || code, remedy };
  return { message: QUOTES.includes(code) && message ? `${own[0]} (${message})` : own[0], remedy };
}

/** @param {import("../http.js").Issue} issue @returns {string} what is wrong with a field, in the reader's words */
export const sayIssue = ({ code = "", message, limit = 0 }) => t().api.issues[code]?.(limit) ?? message;

/**
 * An error: what happened, what to do, its code, and "Try again". The same for what an account or a site keeps.
 * @param {{
 *   error: import("../http.js").ApiError | {code?: string, message?: string, details?: Record<string, unknown>},
 *   again?: (() => void) | undefined,
 *   own?: boolean,
 *   children?: Children,
 * }} props `own`: the message is the page's own and says it all; `children`: what carries out the remedy
 */
export function Trouble({ error, again, own = false, children }) {
  const { message, remedy } = own ? { message: error.message, remedy: null } : explain(error);
  const id = error.details?.id;
  return (
    <div class="note bad" role="alert">
      <p class="said">
        <Mark kind="bad">{message}</Mark>
      </p>
      {remedy && <p>{remedy}</p>}
      <p class="small">
        {t().common.code} <code>{error.code}</code>
        {typeof id === "string" && (
          <>
            {" · "}
            {t().common.errorId} <code>{id}</code>
          </>
        )}
      </p>
      {(again || children) && (
        <p class="actions">
          {children}
          {again && <AgainButton error={error} again={again} />}
        </p>
      )}
    </div>
  );
}

/** @param {{error: any, again: () => void}} props counts down where the service has said when to come back */
function AgainButton({ error, again }) {
  const left_s = useCountdown(useRetryAt(error));
  return (
    <button type="button" class="quiet" aria-disabled={left_s > 0} onClick={() => left_s === 0 && again()}>
      {left_s > 0 ? t().common.againIn(span(left_s)) : t().common.again}
    </button>
  );
}

/** @param {{kind?: "plain" | "watch" | "good" | "bad", children: Children}} props something to know, no error */
export const Note = ({ kind = "plain", children }) => <div class={`note ${kind}`}>{children}</div>;

/** @param {{children: Children}} props what is here once there is something, and how it comes */
export const Empty = ({ children }) => <div class="empty">{children}</div>;

/** @param {{rows?: number}} props lines in the place of what is read; they show after a moment only */
export function Skeleton({ rows = 4 }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{t().common.loading}</span>
      {Array.from({ length: rows }, (_, i) => (
        <span key={i} class="bone" aria-hidden="true" />
      ))}
    </div>
  );
}

/**
 * What was read: grey lines before, the trouble when it failed; what was read before stays beside it.
 * @template T
 * @param {{read: import("../resource.js").Read<T>, rows?: number, children: (data: T) => Children}} props
 */
export function Loaded({ read, rows, children }) {
  const { data, error, again } = read;
  // That nothing can be reached the line under the navigation says, once; it is read as soon as it can be.
  const known = error?.code === "offline" && unreachable.value !== null;
  return (
    <>
      {error && !known && <Trouble error={error} again={again} />}
      {data !== undefined ? children(data) : (known || !error) && <Skeleton rows={rows ?? 4} />}
    </>
  );
}

/**
 * A button that copies a text. Where the browser does not let it, the text is marked for the keyboard.
 * @param {{text: string, of?: string, label?: string}} props `of`: the id of the element that shows the text
 */
export function Copy({ text, of, label }) {
  const said = useSignal("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = t().common.copied;
    } catch {
      const shown = of && document.getElementById(of);
      if (shown) getSelection()?.selectAllChildren(shown);
      said.value = t().common.copyByHand;
    }
    setTimeout(() => (said.value = ""), 4_000);
  };
  return (
    <span class="copy">
      <button type="button" class="quiet" data-key="c" onClick={copy}>
        {label ?? t().common.copy}
      </button>
      <span role="status">{said}</span>
    </span>
  );
}
