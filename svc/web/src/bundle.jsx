/** Lazy-loaded code, and components that render it after it is loaded. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError } from "./http.js";
import { ErrorMessage } from "./ui/parts.jsx";

/**
 * @template M
 * @typedef {import("@preact/signals").Signal<{exports?: M, error?: ApiError}>} State
 */
/**
 * @template M
 * @typedef {{state: State<M>, load: () => Promise<void>}} Bundle
 */

/**
 * Code that is loaded once, together with its styles.
 * @template M
 * @param {() => Promise<M>} read
 * @returns {Bundle<M>}
 */
export function bundle(read) {
  const state = signal(/** @type {{exports?: M, error?: ApiError}} */ ({}));
  let loading = /** @type {Promise<[M, void]> | null} */ (null);
  const load = async () => {
    if (state.peek().exports) return;
    loading ??= Promise.all([read(), loadStyles()]);
    try {
      state.value = { exports: (await loading)[0] };
    } catch {
      // The service is unreachable, or an update has replaced a file.
      loading = null;
      state.value = { error: new ApiError("offline") };
    }
  };
  return { state, load };
}

let styles = /** @type {Promise<void> | null} */ (null);

/** Add, once, the stylesheet whose URL the build has written into the document. @returns {Promise<void>} */
function loadStyles() {
  styles ??= new Promise((loaded, failed) => {
    const href = document.querySelector("meta[name=rest-style]")?.getAttribute("content") ?? "";
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
    link.onload = () => loaded();
    link.onerror = () => {
      styles = null;
      failed();
    };
    document.head.append(link);
  });
  return styles;
}

/**
 * @template {Record<string, any>} M
 * @param {Bundle<M>} from
 * @param {keyof M} name
 * @param {(error: ApiError | undefined) => import("preact").ComponentChildren} placeholder shown until the code is
 *   loaded
 * @returns {import("preact").ComponentType<any>}
 */
export const loaded = ({ state, load }, name, placeholder) =>
  function Later(/** @type {any} */ properties) {
    const { exports, error } = state.value;
    useEffect(() => void load(), []);
    const Shown = exports?.[name];
    return Shown ? <Shown {...properties} /> : <>{placeholder(error)}</>;
  };

/** @param {ApiError} error */
export const failed = (error) => <ErrorMessage error={error} again={() => location.reload()} />;
