/** The account's Worker installation, the Worker's last push, and the account's site and link counts. */

import { ago, list, longDay, moment, number } from "../format.js";
import { useResource } from "../resource.js";
import { Mark, explain } from "../ui/parts.jsx";
import { t } from "../words.js";

/** @typedef {import("../wire").FullAccount} Account */
/** @typedef {import("preact").ComponentChildren} Children */

/** Sites and links are counted up to this number. If there are more, the page shows "100+". */
export const COUNT_LIMIT = 100;

/** @param {{name: string, children: Children}} props */
const Fact = ({ name, children }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/**
 * @param {Record<string, number>} counts by reason
 * @returns {string[]} such as `12 (database error)`; a reason without a text is shown as its code
 */
export function reasons(counts) {
  const words = /** @type {Record<string, string | undefined>} */ (t().account.reasons);
  const there = Object.entries(counts).filter(([, count]) => count > 0);
  return there.map(([reason, count]) => `${number(count)} (${words[reason] ?? reason})`);
}

/** @param {{account: Account}} props */
export function Installed({ account: { edge_account_id, edge, token, push, location } }) {
  const words = t().account.installed;
  const dropped = push ? reasons(push.dropped) : [];
  return (
    <section aria-labelledby="installed">
      <h2 id="installed">{words.title}</h2>
      <dl class="facts">
        <Fact name={words.id}>
          <code>{edge_account_id}</code>
        </Fact>
        {edge && (
          <Fact name={words.worker}>
            <code title={edge.bundle}>{edge.bundle.slice(0, 12)}</code>{" "}
            <Mark kind={edge.up_to_date ? "good" : "busy"}>{edge.up_to_date ? words.upToDate : words.outdated}</Mark>
          </Fact>
        )}
        {edge?.installed_at && <Fact name={words.since}>{moment(edge.installed_at)}</Fact>}
        <Fact name={words.database}>
          {t().account.locations[location ?? ""]}
          {typeof edge?.schema === "number" && ` · ${words.tables(edge.schema)}`}
        </Fact>
        {token && (
          <Fact name={words.token}>
            <code>{token.name}</code>
            {!token.expires_at.startsWith("9999") && ` · ${words.tokenEnds(longDay(token.expires_at))}`}
          </Fact>
        )}
        <Fact name={words.report}>
          {push ? `${ago(push.at)} · ${words.queue(push.queue)}` : t().account.noReport}
          {push?.error && ` · ${explain({ message: push.error }).message}`}
        </Fact>
        {dropped.length > 0 && <Fact name={words.dropped}>{list(dropped)}</Fact>}
      </dl>
    </section>
  );
}

/**
 * @param {string} id of an account
 * @returns {{sites: number | undefined, links: number | undefined, more: {sites: boolean, links: boolean}}} the site
 *   and link counts, up to `COUNT_LIMIT`; undefined until they are loaded
 */
export function useHoldings(id) {
  const sites = useResource("GET /v1/sites", { account_id: id, limit: COUNT_LIMIT }).data;
  const links = useResource("GET /v1/links", { account_id: id, limit: COUNT_LIMIT }).data;
  const more = { sites: Boolean(sites?.next_cursor), links: Boolean(links?.next_cursor) };
  return { sites: sites?.sites.length, links: links?.links.length, more };
}

/** The Worker's last push, and the account's site and link counts. @param {{account: Account}} props */
export function Summary({ account: { id, push, state } }) {
  const words = t().account.summary;
  const { sites, links, more } = useHoldings(id);
  return (
    <p class="summary">
      <span>{push ? words.reported(ago(push.at)) : words.neverReported}</span>
      {sites !== undefined && <a href="/sites">{words.sites(sites, more.sites)}</a>}
      {links !== undefined && <a href={`/links?account_id=${id}`}>{words.links(links, more.links)}</a>}
      {sites === 0 && state === "ready" && (
        <a class="button" href={`/sites/new?account_id=${id}`}>
          {t().site.add}
        </a>
      )}
    </p>
  );
}
