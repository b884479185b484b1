/** The list of sites. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Sites() {
  return <Page title={t().sites.title} />;
}
