/**
 * Replaces ../report-part.jsx, which loads the parts of a report later. The page of a share includes the parts that it
 * needs.
 */

import { Table, Tip } from "../ui/chart-parts.jsx";

/** @type {Record<string, import("preact").ComponentType<any>>} */
const parts = { Table, Tip };

/** @param {string} name @returns {import("preact").ComponentType<any>} */
export const reportPart = (name) => parts[name] ?? (() => null);
