/** What was changed, by whom. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Events() {
  return <Page title={t().events.title} />;
}
