/** English texts that only the components in ui/report-parts.jsx use. They load with these, not with the first page. */

import range from "./en/range.js";
import statement from "./en/statement.js";

export default { range, statement };
