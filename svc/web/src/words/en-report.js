/** English texts that only the components in ui/report-parts.jsx use. They load with these, not with the first page. */

import lists from "./en/lists.js";
import notes from "./en/notes.js";
import range from "./en/range.js";
import shares from "./en/shares.js";
import statement from "./en/statement.js";

export default { lists, notes, range, shares, statement };
