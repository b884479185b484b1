/** Lazy-loaded pages and parts of pages. */

import { bundle, failed, loaded } from "./bundle.jsx";
import { Skeleton } from "./ui/parts.jsx";

/** @typedef {typeof import("./pages/rest.jsx")} Rest */

const rest = bundle(() => import("./pages/rest.jsx"));

/** Load the code and the styles of the other pages, once. */
export const loadRest = rest.load;

/**
 * @param {keyof Rest} name of a page in pages/rest.jsx
 * @param {{part?: boolean}} [options] `part`: true for a part of a page, which needs no `<main>`
 * @returns {import("preact").ComponentType<any>} renders a skeleton until the code is loaded
 */
export const later = (name, { part = false } = {}) =>
  loaded(rest, name, (error) => {
    const placeholder = error ? failed(error) : <Skeleton />;
    return part ? placeholder : <main id="content">{placeholder}</main>;
  });
