/** Client-side routing: the current URL, navigation and path patterns. */

import { signal } from "@preact/signals";

import { holdsSomething } from "./unsent.js";

/** The current URL. Its query holds the state of the page, such as period, search and order. */
export const address = signal(new URL(location.href));

/**
 * False until the first page is shown. Until then, a redirect by the application counts as part of the browser's own
 * navigation.
 */
let opened = false;
/** True if the next page must move the focus to its heading. */
let arriving = false;

/** @returns {boolean} true once after each navigation inside the application; see `Page` in ui/parts.jsx */
export function arrived() {
  const before = arriving;
  arriving = false;
  opened = true;
  return before;
}

/** How many times another page of the application has been opened. */
let moves = 0;

/** @returns {boolean} false on the page with which the browser opened the application */
export const hasNavigated = () => moves > 0;

/**
 * Remember the current page before a request, because the next page may have unsent input when the response arrives.
 * @returns {() => boolean} true until another page is opened; if false, the caller must not navigate
 */
export function rememberPage() {
  const before = moves;
  return () => moves === before;
}

/** A navigation that is waiting for confirmation because it would lose input; `go` carries it out. */
export const leaving = signal(/** @type {{go: () => void} | null} */ (null));

/** @param {string} path @returns {boolean} true if navigating to the path would lose input */
const loses = (path) => holdsSomething() && path !== address.value.pathname;

/** Navigate, after confirmation if input would be lost. @param {string} to a path of this application, with query */
export function visit(to) {
  if (loses(new URL(to, location.href).pathname)) leaving.value = { go: () => go(to) };
  else go(to);
}

/**
 * Run an action that closes the page, such as signing out.
 * @param {() => void} end called immediately, or after confirmation if input would be lost
 */
export function leave(end) {
  if (holdsSomething()) leaving.value = { go: end };
  else end();
}

/** The current position in the browser history, which is used to compute the distance of a step back or forward. */
let step = 0;

/**
 * Navigate without confirmation.
 * @param {string} to a path of this application, with query
 * @param {{replace?: boolean}} [options] `replace`: replace the current history entry
 */
export function go(to, { replace = false } = {}) {
  const url = new URL(to, location.href);
  if (url.href !== location.href) {
    if (!replace) step += 1;
    history[replace ? "replaceState" : "pushState"]({ step }, "", url);
  }
  arrive(url, true);
}

/** @param {URL} url @param {boolean} top true to scroll to the top */
function arrive(url, top) {
  const moved = url.pathname !== address.value.pathname;
  if (moved) {
    moves += 1;
    arriving = opened;
    leaving.value = null;
  }
  address.value = url;
  if (moved && top) scrollTo(0, 0);
}

/** Replace the URL of the current page. @param {URL | string} url */
export const replaceAddress = (url) => history.replaceState({ step }, "", url);

/**
 * Change the query of the URL without a new history entry.
 * @param {Record<string, string | null>} changes null removes a parameter
 */
export function setSearch(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  replaceAddress(url);
  address.value = url;
}

/**
 * @param {string} pattern such as `/sites/:id`
 * @param {string} path
 * @returns {Record<string, string> | null} the parameters; null if the path does not match
 */
export function match(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.replace(/(.)\/$/, "$1").split("/");
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const parts = {};
  for (const [i, part] of wanted.entries()) {
    const found = given[i] ?? "";
    if (!part.startsWith(":")) {
      if (part !== found) return null;
      continue;
    }
    try {
      parts[part.slice(1)] = decodeURIComponent(found);
    } catch {
      return null;
    }
    if (found === "") return null;
  }
  return parts;
}

/**
 * The page to open after signing in.
 * @param {string | null} next the `next` query parameter
 * @returns {string} a path of this application; "/" if `next` is not one
 */
export function safeNext(next) {
  // Browsers treat "/\" as "//", and remove tabs and line breaks. Either could lead to another host.
  return next !== null && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : "/";
}

/**
 * Handle clicks on links to pages of this application, and steps back and forward.
 * @param {(path: string) => boolean} ours true if a path is a page of the application
 */
export function listen(ours) {
  step = history.state?.step ?? 0;
  replaceAddress(location.href);
  let asked = false;
  addEventListener("popstate", ({ state }) => {
    const url = new URL(location.href);
    // When the user follows a link to a fragment, the browser adds a history entry without our state.
    const to = state?.step ?? step + 1;
    if (!asked && loses(url.pathname) && to !== step) {
      const steps = to - step;
      history.go(-steps);
      leaving.value = {
        go: () => {
          asked = true;
          history.go(steps);
        },
      };
      return;
    }
    asked = false;
    step = to;
    replaceAddress(url);
    arrive(url, false);
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target || link.download) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !ours(url.pathname)) return;
    if (url.hash && url.pathname === location.pathname && url.search === location.search) return;
    event.preventDefault();
    visit(url.pathname + url.search + url.hash);
  });
}
