/** In place of ../report-part.jsx, which loads them later: the parts of a report that the page of a share needs. */

import { Table, Tip } from "../ui/chart-parts.jsx";

/** @type {Record<string, import("preact").ComponentType<any>>} */
const parts = { Table, Tip };

/** @param {string} name @returns {import("preact").ComponentType<any>} */
export const reportPart = (name) => parts[name] ?? (() => null);
