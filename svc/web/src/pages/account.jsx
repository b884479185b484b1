/** One account: its state, its operation, its troubles. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Account() {
  return <Page title={t().accounts.title} />;
}
