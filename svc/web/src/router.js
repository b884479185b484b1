/** The address: one signal of it, links that change it without a new page, and patterns of paths. */

import { signal } from "@preact/signals";

import { holdsSomething } from "./unsent.js";

/** Where we are. Its search part keeps a page's state: period, search, order. */
export const address = signal(new URL(location.href));

/** Whether the page that is shown next takes the focus to its heading. */
let arriving = true;

/** @returns {boolean} true once after each navigation: see `Page` in ui/parts.jsx */
export function arrived() {
  const before = arriving;
  arriving = false;
  return before;
}

/** Who wants to leave a page that holds something is asked: `go` is what they do then. */
export const leaving = signal(/** @type {{go: () => void} | null} */ (null));

/** @param {string} path @returns {boolean} whether the way there loses something */
const loses = (path) => holdsSomething() && path !== address.value.pathname;

/** Goes where somebody has asked to go. @param {string} to a path of ours, with its search part */
export function visit(to) {
  if (loses(new URL(to, location.href).pathname)) leaving.value = { go: () => go(to) };
  else go(to);
}

/**
 * Ends what the page belongs to, as signing out does.
 * @param {() => void} end done at once, or when who would lose something agrees
 */
export function leave(end) {
  if (holdsSomething()) leaving.value = { go: end };
  else end();
}

/** Which step of the history we are at, by which is known how far it is back or forward. */
let step = 0;

/**
 * Goes there unasked: what there was to do here is done.
 * @param {string} to a path of ours, with its search part
 * @param {{replace?: boolean}} [options] `replace`: the way back does not lead to where we are now
 */
export function go(to, { replace = false } = {}) {
  const url = new URL(to, location.href);
  if (url.href !== location.href) {
    if (!replace) step += 1;
    history[replace ? "replaceState" : "pushState"]({ step }, "", url);
  }
  arrive(url, true);
}

/** @param {URL} url @param {boolean} top whether the page is shown from its top */
function arrive(url, top) {
  const moved = url.pathname !== address.value.pathname;
  if (moved) arriving = true;
  address.value = url;
  if (moved && top) scrollTo(0, 0);
}

/** Shows another address for the same page. @param {URL | string} url */
export const replaceAddress = (url) => history.replaceState({ step }, "", url);

/**
 * Changes the search part of the address, without a step for the way back.
 * @param {Record<string, string | null>} changes null takes a part away
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
 * @param {string} pattern as `/sites/:id`
 * @param {string} path
 * @returns {Record<string, string> | null} its parts; null: the path is another one
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
 * Where somebody goes on after signing in.
 * @param {string | null} next of the address
 * @returns {string} a path of ours, whatever was asked for
 */
export function safeNext(next) {
  // A browser reads "/\" as "//", and drops tabs and line ends: both would lead to another host.
  return next !== null && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : "/";
}

/**
 * Takes over clicks on links to pages of ours, and the steps back and forward.
 * @param {(path: string) => boolean} ours whether a path is a page of the application
 */
export function listen(ours) {
  step = history.state?.step ?? 0;
  replaceAddress(location.href);
  let asked = false;
  addEventListener("popstate", ({ state }) => {
    const url = new URL(location.href);
    // A place in the page that a link leads to is a step that only the browser has made.
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
