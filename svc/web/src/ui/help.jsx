/** Links from a page to the documentation at /help. A test checks that each page and anchor exists. */

import { t } from "../words.js";

/** Topic → the documentation page that explains it. */
const TOPICS = {
  token: "/help/use/cloudflare#create-a-bootstrap-token",
  host: "/help/use/links#set-the-link-host",
  plan: "/help/use/account-health#read-the-plan-usage",
  check: "/help/use/account-health#run-a-health-check",
  ledger: "/help/use/ledger",
  snippet: "/help/use/snippet",
  privacy: "/help/use/privacy",
  keys: "/help/use/keys",
  import: "/help/use/import-links",
  importTotals: "/help/use/import-totals",
};

/**
 * A link to the documentation. It opens a new tab, so that a form keeps its input.
 * @param {{to: keyof typeof TOPICS}} props
 */
export function Help({ to }) {
  const words = t().common;
  return (
    <a href={TOPICS[to]} hreflang="en" target="_blank" rel="noopener">
      {words.help[to]}
      <span class="unseen"> ({words.newTab})</span>
    </a>
  );
}
