/** Reads the counts of a share. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { READ_MS, asApiError, send } from "../http.js";
import { address, match } from "../router.js";

/** @typedef {import("../wire").SharedReport} SharedReport */

/**
 * The interval at which the page reads new counts. Workers send counts once an hour, and the service reads the lists at
 * most once in five minutes.
 */
const AGAIN_MS = 300_000;
const ERROR_AGAIN_MS = 30_000;
/** Additional wait after the time at which the lists are available again. */
const SPARE_MS = 1_000;

/** @returns {string} the path of the share's first page, without a trailing slash */
export const sharePath = () => address.value.pathname.split("/", 3).join("/");

/** @returns {string} the id of the site whose page this is, on the pages of an account; otherwise "" */
export const shownSite = () => match("/s/:secret/sites/:id", address.value.pathname)?.id ?? "";

/** @param {string} id of a site @returns {string} the path of its page, on the pages of an account */
export const sitePath = (id) => `${sharePath()}/sites/${encodeURIComponent(id)}`;

/** @param {Record<string, unknown>} query empty parameters are omitted @returns {string} the path of the counts */
function reportPath(query) {
  const site = shownSite();
  const path = `${site ? sitePath(site) : sharePath()}/report`;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, String(value));
  return search.size ? `${path}?${search}` : path;
}

/** @param {string} token @returns {Record<string, string>} */
const headers = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

/**
 * Read counts, and read them again from time to time while the page is visible. Earlier counts stay until new ones have
 * been read.
 * @param {Record<string, unknown> | null} query null to read nothing
 * @param {string} token of the viewer, or ""
 * @returns {{data: SharedReport | undefined, error: import("../http.js").ApiError | undefined, loading: boolean,
 *   again: () => void}}
 */
export function useShared(query, token) {
  const state = useSignal(/** @type {{data?: SharedReport, error?: import("../http.js").ApiError}} */ ({}));
  const loading = useSignal(true);
  const tries = useSignal(0);
  const target = query && reportPath(query);
  useEffect(() => {
    if (target === null) return undefined;
    const aborted = new AbortController();
    let timer = 0;
    const read = async () => {
      loading.value = true;
      let wait_ms = AGAIN_MS;
      try {
        const sending = { headers: headers(token), signal: aborted.signal, within_ms: READ_MS };
        const data = await (await send("GET", target, sending)).json();
        if (aborted.signal.aborted) return;
        state.value = { data };
        if (data.lists_at) wait_ms = Math.min(wait_ms, Math.max(0, Date.parse(data.lists_at) - Date.now()) + SPARE_MS);
      } catch (thrown) {
        if (aborted.signal.aborted) return;
        const error = asApiError(thrown);
        state.value = error.passes ? { ...state.peek(), error } : { error };
        if (!error.passes) wait_ms = Infinity;
        else wait_ms = error.retry_after_s ? 1_000 * error.retry_after_s : ERROR_AGAIN_MS;
      }
      loading.value = false;
      if (wait_ms !== Infinity) timer = window.setTimeout(() => (document.hidden ? resume() : read()), wait_ms);
    };
    const resume = () => document.addEventListener("visibilitychange", read, { once: true, signal: aborted.signal });
    read();
    return () => {
      aborted.abort();
      clearTimeout(timer);
    };
  }, [target, token, tries.value]);
  const { data, error } = state.value;
  return { data, error, loading: loading.value, again: () => void (tries.value += 1) };
}

/**
 * @param {string} password
 * @returns {Promise<string>} the token of the viewer; "" if the share no longer has a password
 * @throws {import("../http.js").ApiError} such as `invalid_password`
 */
export async function signIn(password) {
  const { token } = await (await send("POST", `${sharePath()}/report`, { body: { password } })).json();
  return token ?? "";
}
