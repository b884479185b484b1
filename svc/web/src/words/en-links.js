/** English texts that only the components in pages/link-pages.jsx use. They load with these. */

import links from "./en/links.js";

export default { links };
