/** Lazy-loaded parts of reports. */

import { bundle, failed, loaded } from "./bundle.jsx";

const reportParts = bundle(() => import("./ui/report-parts.jsx"));

/**
 * @param {keyof typeof import("./ui/report-parts.jsx")} name of a component in ui/report-parts.jsx
 * @returns {import("preact").ComponentType<any>} the component, which renders nothing until the code is loaded
 */
export const reportPart = (name) => loaded(reportParts, name, (error) => error && failed(error));
