/** The first page: accounts and sites, each with its state. */

import { number } from "../format.js";
import { useResource, whileWorking } from "../resource.js";
import { Rows } from "../ui/list.jsx";
import { Empty, Loaded, Page, State } from "../ui/parts.jsx";
import { t } from "../words.js";

/** @type {import("../resource.js").Pace} */
const whileAnyWorks = ({ accounts }, looks, since_ms) => {
  const waits = accounts.map((/** @type {any} */ account) => whileWorking(account, looks, since_ms) ?? Infinity);
  const wait_ms = Math.min(...waits);
  return wait_ms === Infinity ? null : wait_ms;
};

export function Overview() {
  const words = t().overview;
  const accounts = useResource("GET /v1/accounts", {}, { pace: whileAnyWorks });
  const sites = useResource("GET /v1/sites", { limit: 50 });
  return (
    <Page title={words.title}>
      <section aria-labelledby="accounts">
        <h2 id="accounts">{words.accounts}</h2>
        <Loaded read={accounts} rows={2}>
          {({ accounts: rows }) =>
            rows.length === 0 ? (
              <Empty>
                <p>{words.noAccounts}</p>
                <p>
                  <a class="button" href="/accounts/connect">
                    {t().accounts.connect}
                  </a>
                </p>
              </Empty>
            ) : (
              <Rows
                label={words.accounts}
                rows={rows}
                id={({ id }) => id}
                columns={[
                  { label: words.account, cell: ({ id, name }) => <a href={`/accounts/${id}`}>{name}</a> },
                  { label: words.state, cell: ({ state }) => <State of={state} /> },
                ]}
              />
            )
          }
        </Loaded>
      </section>
      <section aria-labelledby="sites">
        <h2 id="sites">{words.sites}</h2>
        <Loaded read={sites}>
          {({ sites: rows }) =>
            rows.length === 0 ? (
              <Empty>
                <p>{words.noSites}</p>
                {(accounts.data?.accounts.length ?? 0) > 0 && (
                  <p>
                    <a class="button" href="/sites/new">
                      {t().sites.add}
                    </a>
                  </p>
                )}
              </Empty>
            ) : (
              <Rows
                label={words.sites}
                rows={rows}
                id={({ id }) => id}
                columns={[
                  { label: words.site, cell: ({ id, host }) => <a href={`/sites/${id}`}>{host}</a> },
                  { label: words.state, cell: ({ state }) => <State of={state} /> },
                  { label: words.views7d, number: true, cell: ({ views_7d }) => number(views_7d ?? 0) },
                ]}
              />
            )
          }
        </Loaded>
      </section>
    </Page>
  );
}
