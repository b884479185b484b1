/** The list of links. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Links() {
  return <Page title={t().links.title} />;
}
