/** What visitors of a link get: the destinations, the forwarded query, and the schedule. */

import { t } from "../words.js";
import { useNotFoundUrl } from "./link-host.jsx";
import { Leads } from "./rules.jsx";
import { Phases } from "./schedule.jsx";

/** @typedef {import("../wire").Link} Link */

/** @param {{link: Link, heading: "h2" | "h3"}} props `heading`: the element of the schedule's heading */
export const Destinations = ({ link, heading }) => (
  <>
    <Leads link={link} />
    {link.forward_query && <p class="hint">{t().linkFields.forward.done}</p>}
    <Schedule link={link} heading={heading} />
  </>
);

/** @param {{link: Link, heading: "h2" | "h3"}} props renders nothing if the link has neither a start nor an end */
function Schedule({ link: { account_id, starts_at, ends_at, after_url, rules, split, url }, heading: Heading }) {
  const isLimited = starts_at !== null || ends_at !== null;
  const notFoundUrl = useNotFoundUrl(isLimited && after_url === null ? account_id : null);
  return isLimited ? (
    <>
      <Heading>{t().linkFields.schedule.title}</Heading>
      <Phases
        starts_at={starts_at}
        ends_at={ends_at}
        after_url={after_url}
        notFoundUrl={notFoundUrl}
        url={rules.length > 0 || split ? null : url}
      />
    </>
  ) : null;
}
