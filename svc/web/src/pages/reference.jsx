/** The reference of the API. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Reference() {
  return <Page title={t().reference.title} />;
}
