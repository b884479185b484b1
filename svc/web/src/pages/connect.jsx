/** How an account is connected. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function Connect() {
  return <Page title={t().accounts.connect} />;
}
