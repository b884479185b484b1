/** The list of accounts. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Accounts() {
  return <Page title={t().accounts.title} />;
}
