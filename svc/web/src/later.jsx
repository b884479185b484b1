/** Lazy-loaded pages and parts of pages. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError } from "./http.js";
import { ErrorMessage, Skeleton } from "./ui/parts.jsx";

/** @typedef {typeof import("./pages/rest.jsx")} Rest */

const rest = signal(/** @type {{pages?: Rest, error?: ApiError}} */ ({}));

let loading = /** @type {Promise<[Rest, void]> | null} */ (null);

/** Load the code and the styles of the other pages, once. */
export async function loadRest() {
  if (rest.peek().pages) return;
  loading ??= Promise.all([import("./pages/rest.jsx"), loadStyles()]);
  try {
    rest.value = { pages: (await loading)[0] };
  } catch {
    // The service is unreachable, or an update has replaced a file.
    loading = null;
    rest.value = { error: new ApiError("offline") };
  }
}

/** Add the stylesheet that the build names in the document. @returns {Promise<void>} */
function loadStyles() {
  const href = document.querySelector("meta[name=rest-style]")?.getAttribute("content") ?? "";
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((loaded, failed) => {
    link.onload = () => loaded();
    link.onerror = failed;
  });
}

/**
 * @param {keyof Rest} name of a page in pages/rest.jsx
 * @param {{part?: boolean}} [options] `part`: true for a part of a page, which needs no `<main>`
 * @returns {import("preact").ComponentType<any>} renders a skeleton until the code is loaded
 */
export function later(name, { part = false } = {}) {
  return function Later(/** @type {any} */ properties) {
    const { pages, error } = rest.value;
    useEffect(() => void loadRest(), []);
    if (pages) {
      const Shown = /** @type {import("preact").ComponentType<any>} */ (pages[name]);
      return <Shown {...properties} />;
    }
    const placeholder = error ? <ErrorMessage error={error} again={() => location.reload()} /> : <Skeleton />;
    return part ? placeholder : <main id="content">{placeholder}</main>;
  };
}
