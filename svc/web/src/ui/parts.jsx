/** Basic components of pages: frame, status marks, errors, empty states, skeletons and copy buttons. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { span } from "../format.js";
import { unreachable } from "../http.js";
import { product } from "../operator.js";
import { QUOTES } from "../remedies.js";
import { arrived } from "../router.js";
import { shortcuts } from "../settings.js";
import { t } from "../words.js";
import { Icon } from "./icons.jsx";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * A page with its title, which is also the heading. The heading takes the focus after a navigation.
 * @param {{title: string, head?: Children, children?: Children, narrow?: boolean, focus?: boolean}} props `head`:
 *   shown next to the heading; `focus`: focus the heading even if only the content at this URL has changed
 */
export function Page({ title, head, children, narrow = false, focus = false }) {
  const heading = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  useEffect(() => {
    document.title = `${title} · ${product}`;
  }, [title]);
  // Move the focus in the task in which the heading appears, so that the next key press goes to the new page.
  useLayoutEffect(() => {
    if (arrived() || focus) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <main id="content" class={narrow ? "narrow" : undefined}>
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

/**
 * @param {string} text @returns {Children} the text, which can wrap after the slashes of a URL or the dots of a host
 */
const breakable = (text) =>
  text
    .split(text.includes("/") ? /(?<=\/)(?=\S)/ : /(?<=\.)(?=\S)/)
    .flatMap((part, i) => (i > 0 ? [<wbr key={i} />, part] : part));

/** Shapes with the same meaning as the colors: good, in progress, warning, error, neutral. */
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
  disabled: "bad",
  deleted: "none",
};

/** @typedef {ReturnType<typeof t>["common"]["states"]} StateWords */

/** @param {{state: keyof StateWords}} props a status with its mark */
export function State({ state }) {
  const kind = KINDS[state] ?? "none";
  return <Mark kind={kind}>{t().common.states[state] ?? state}</Mark>;
}

/** @param {{kind: keyof typeof SHAPES, children: Children}} props a shape and its text */
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
 * The seconds until a time, updated every second.
 * @param {number | null} at_ms since 1970
 * @returns {number} 0 once that time is reached
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

/** @param {import("../http.js").ApiError} error @returns {number | null} time of the earliest retry, ms since 1970 */
export function useRetryAt(error) {
  const at = useRef({ error, ms: 0 });
  if (at.current.error !== error || at.current.ms === 0) {
    at.current = { error, ms: Date.now() + 1_000 * (error.retry_after_s ?? 0) };
  }
  return error.retry_after_s ? at.current.ms : null;
}

/**
 * The message and remedy of an error in the reader's language.
 * @param {{code?: string, message?: string, details?: Record<string, unknown>}} error
 * @returns {{message: string, remedy: string | null}}
 */
export function explain({ code = "", message = "", details = {} }) {
  const own = t().errors[`${code}.${details.status}`] ?? t().errors[code];
  const given = typeof details.remedy === "string" ? details.remedy : null;
  // The call failed because of the account's own error, so show the remedy for that error.
  const reason = code === "account_not_ready" && typeof details.reason === "string" ? details.reason : null;
  const remedy = reason !== null ? (t().errors[reason]?.[1] ?? given) : own ? own[1] : given;
  if (!own) return { message: message || code, remedy };
  return { message: QUOTES.includes(code) && message ? `${own[0]} (${message})` : own[0], remedy };
}

/** @param {import("../http.js").Issue} issue @returns {string} the issue in the reader's language */
export const issueText = ({ code = "", limit = 0, message }) =>
  (t().api.issues[code] ?? t().api.issues.other)?.(limit, message) ?? "";

/**
 * Shows an error with its message, remedy and code, and optionally a "Try again" button. The error can also be one that
 * is stored for an account or site.
 * @param {{
 *   error: import("../http.js").ApiError | {code?: string, message?: string, details?: Record<string, unknown>},
 *   again?: (() => void) | undefined,
 *   own?: boolean,
 *   children?: Children,
 * }} props `own`: show `message` alone, without a remedy; `children`: buttons that carry out the remedy
 */
export function ErrorMessage({ error, again, own = false, children }) {
  const { message, remedy } = own ? { message: error.message, remedy: null } : explain(error);
  const id = error.details?.id;
  // Offer no retry for an object that does not exist.
  const retry = error.code === "not_found" ? undefined : again;
  return (
    <div class="note bad" role="alert">
      <p class="message">
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
      {(retry || children) && (
        <p class="actions">
          {children}
          {retry && <AgainButton error={error} again={retry} />}
        </p>
      )}
    </div>
  );
}

/** @param {{error: any, again: () => void}} props shows a countdown if the service sent Retry-After */
function AgainButton({ error, again }) {
  const left_s = useCountdown(useRetryAt(error));
  return (
    <button type="button" class="quiet" aria-disabled={left_s > 0} onClick={() => left_s === 0 && again()}>
      {left_s > 0 ? t().common.againIn(span(left_s)) : t().common.again}
    </button>
  );
}

/** @param {{kind?: "plain" | "watch" | "good" | "bad", children: Children}} props shows a text that is not an error */
export const Note = ({ kind = "plain", children }) => <div class={`note ${kind}`}>{children}</div>;

/** @param {{children: Children}} props says what will appear here and how to add it */
export const Empty = ({ children }) => <div class="empty">{children}</div>;

/** @param {{keys: string}} props shows the shortcut of a button, unless the user has turned shortcuts off */
export const KeyHint = ({ keys }) =>
  shortcuts.value === "on" ? (
    <kbd class="hint-key" aria-hidden="true">
      {keys}
    </kbd>
  ) : null;

/** @param {{rows?: number}} props a placeholder while data is loading; CSS shows it after a short delay */
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
 * Shows data from the service, a skeleton while the data is loading, or an error if loading fails. Earlier data stays
 * on the screen next to the error.
 * @template T
 * @param {{read: import("../resource.js").Read<T>, rows?: number, children: (data: T) => Children}} props
 */
export function Loaded({ read, rows, children }) {
  const { data, error, again } = read;
  // While the service is unreachable, only the line below the navigation reports it. The data loads as soon as the
  // service is reachable.
  const known = error?.code === "offline" && unreachable.value !== null;
  return (
    <>
      {error && !known && <ErrorMessage error={error} again={again} />}
      {data !== undefined ? children(data) : (known || !error) && <Skeleton rows={rows ?? 4} />}
    </>
  );
}

/**
 * Copy a text. If the clipboard API is not permitted or the page has no HTTPS, browsers can still copy selected text.
 * @param {string} text
 * @returns {Promise<boolean>} false if the browser refuses
 */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = Object.assign(document.createElement("textarea"), {
      value: text,
      readOnly: true,
      className: "unseen",
    });
    const focused = document.activeElement;
    // While a dialog is open, text outside the dialog cannot be selected.
    (focused?.closest("dialog") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
    return copied;
  }
}

/**
 * A button that copies a text. If the browser refuses, the text is selected for copying by keyboard.
 * @param {{text: string, shownIn?: string, label?: string, icon?: boolean}} props `shownIn`: the id of the element that
 *   shows the text; without it, a text that cannot be copied is shown next to the button; `icon`: show an icon
 *   instead of the label
 */
export function Copy({ text, shownIn, label = t().common.copy, icon = false }) {
  const said = useSignal("");
  const refused = useSignal(false);
  const copy = async () => {
    refused.value = !(await copyText(text));
    const shown = shownIn && document.getElementById(shownIn);
    if (refused.value && shown) getSelection()?.selectAllChildren(shown);
    said.value = refused.value ? (shown ? t().common.copyByHand : "") : t().common.copied;
    setTimeout(() => (said.value = ""), 4_000);
  };
  return (
    <span class="copy">
      <button
        type="button"
        class={icon ? "quiet icon-button" : "quiet"}
        data-key="c"
        onClick={copy}
        {...(icon && { "aria-label": label, title: label })}
      >
        {icon ? <Icon name="copy" /> : label}
      </button>
      <span role="status">
        {said}
        {refused.value && !shownIn && (
          <>
            {t().common.copyRefused} <code>{text}</code>
          </>
        )}
      </span>
    </span>
  );
}
