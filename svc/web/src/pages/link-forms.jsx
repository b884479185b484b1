/** A new link; a link's target and rules. */

import { Page } from "../ui/parts.jsx";
import { t } from "../words.js";

export function NewLink() {
  return <Page title={t().links.add} />;
}

export function EditLink() {
  return <Page title={t().links.edit} />;
}
