/** API keys. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Keys() {
  return <Page title={t().keys.title} />;
}
