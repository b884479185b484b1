/** Pages, and parts of them, whose code is fetched when the first one is shown, or when somebody goes there. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError } from "./http.js";
import { Skeleton, Trouble } from "./ui/parts.jsx";

/** @typedef {typeof import("./pages/rest.jsx")} Rest */

const rest = signal(/** @type {{pages?: Rest, error?: ApiError}} */ ({}));

/** Fetches the pages' code, once. */
export async function loadRest() {
  if (rest.peek().pages) return;
  try {
    rest.value = { pages: await import("./pages/rest.jsx") };
  } catch {
    // The file is gone after an update of the service, or the service was not reached.
    rest.value = { error: new ApiError("offline") };
  }
}

/**
 * @param {keyof Rest} name of a page in pages/rest.jsx
 * @param {{part?: boolean}} [options] `part`: of a page, which frames it
 * @returns {import("preact").ComponentType<any>} draws grey lines until it is there
 */
export function later(name, { part = false } = {}) {
  return function Later(/** @type {any} */ properties) {
    const { pages, error } = rest.value;
    useEffect(() => void loadRest(), []);
    if (pages) {
      const Shown = /** @type {import("preact").ComponentType<any>} */ (pages[name]);
      return <Shown {...properties} />;
    }
    const meanwhile = error ? <Trouble error={error} again={() => location.reload()} /> : <Skeleton />;
    return part ? meanwhile : <main id="content">{meanwhile}</main>;
  };
}
