/** A site's report. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function SiteReport() {
  return <Page title={t().report.title} />;
}
