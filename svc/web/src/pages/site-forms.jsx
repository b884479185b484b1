/** A new site; a site's settings. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function NewSite() {
  return <Page title={t().sites.add} />;
}

export function SiteSettings() {
  return <Page title={t().sites.settings} />;
}
