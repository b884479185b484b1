/** The page for an object that does not exist. */

import { t } from "../words.js";
import { Empty, Page } from "./parts.jsx";

/** @type {{account: string, site: string, link: string}} */
const LISTS = { account: "/accounts", site: "/sites", link: "/links" };

/** @param {{kind: keyof typeof LISTS}} props */
export function NotFound({ kind }) {
  const words = t().missing;
  return (
    <Page title={words.titles[kind]} focus>
      <Empty>
        <p>{words.text}</p>
        <p>
          <a class="button" href={LISTS[kind]}>
            {words.lists[kind]}
          </a>
        </p>
      </Empty>
    </Page>
  );
}
