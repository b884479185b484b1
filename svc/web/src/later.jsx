/** Lazy-loaded pages and parts of pages. */

import { bundle, failed, loaded } from "./bundle.jsx";
import { Skeleton } from "./ui/parts.jsx";

/** @typedef {typeof import("./pages/rest.jsx")} Rest */
/** @typedef {typeof import("./pages/link-pages.jsx")} LinkPages */

const rest = bundle(() => import("./pages/rest.jsx"));
const links = bundle(() => import("./pages/link-pages.jsx"));

/** Load the code and the styles of the other pages, once. */
export const loadRest = () => rest.load().then(links.load);

/**
 * @template {Record<string, any>} M
 * @param {import("./bundle.jsx").Bundle<M>} from
 * @returns {(name: keyof M, options?: {part?: boolean}) => import("preact").ComponentType<any>}
 */
const from =
  (from) =>
  (name, { part = false } = {}) =>
    loaded(from, name, (error) => {
      const placeholder = error ? failed(error) : <Skeleton />;
      return part ? placeholder : <main id="content">{placeholder}</main>;
    });

/**
 * @type {(name: keyof Rest, options?: {part?: boolean}) => import("preact").ComponentType<any>} `name`: of a page in
 *   pages/rest.jsx; `part`: true for a part of a page, which needs no `<main>`. The component renders a skeleton until
 *   the code is loaded
 */
export const later = from(rest);

/**
 * @type {(name: keyof LinkPages, options?: {part?: boolean}) => import("preact").ComponentType<any>} like `later`, for
 *   pages/link-pages.jsx
 */
export const laterForLinks = from(links);
