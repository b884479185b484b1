/** A site's report. */

import { useResource } from "../resource.js";
import { Loaded, Page } from "../ui/parts.jsx";
import { Report } from "../ui/report.jsx";
import { t } from "../words.js";

/** @param {{id: string}} props */
export function SiteReport({ id }) {
  const read = useResource("GET /v1/sites/{site_id}", { site_id: id });
  return (
    <Page title={read.data?.site.host ?? t().report.title}>
      <Loaded read={read}>{({ site }) => <Report kind="site" id={id} name={site.host} />}</Loaded>
    </Page>
  );
}
