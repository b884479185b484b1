/** English texts that only the components in pages/link-pages.jsx use. They load with these. */

import linkActions from "./en/link-actions.js";
import linkFields from "./en/link-fields.js";
import links from "./en/links.js";
import qr from "./en/qr.js";

export default { linkActions, linkFields, links, qr };
