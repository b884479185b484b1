/** A link's report. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function LinkReport() {
  return <Page title={t().report.title} />;
}
