/** Account selection for new links. If the selected account has no link host, the user sets one first. */

import { useSignal } from "@preact/signals";

import { useResource, whileWorking } from "../resource.js";
import { t } from "../words.js";
import { Choice } from "./choice.jsx";
import { SetHost } from "./link-host-form.jsx";
import { NoAccount } from "./no-account.jsx";
import { Empty, Loaded } from "./parts.jsx";

/**
 * @typedef {import("../wire").FullAccount} FullAccount
 * @typedef {(account: FullAccount, host: string) => import("preact").ComponentChildren} Shown
 */

/**
 * Render `children` for an account if it has a link host. If there are several accounts, the user selects one.
 * @param {{children: Shown}} props
 */
export function WithLinkHost({ children }) {
  const words = t().links;
  const read = useResource("GET /v1/accounts", {});
  const chosen = useSignal("");
  return (
    <Loaded read={read}>
      {({ accounts }) => {
        const account_id = chosen.value || accounts[0]?.id;
        if (!account_id) return <NoAccount>{words.noAccount}</NoAccount>;
        return (
          <>
            {accounts.length > 1 && (
              <div class="column">
                <Choice
                  label={words.account}
                  value={account_id}
                  options={Object.fromEntries(accounts.map(({ id, name }) => [id, name]))}
                  choose={(id) => (chosen.value = id)}
                />
              </div>
            )}
            <Hosted key={account_id} account_id={account_id}>
              {children}
            </Hosted>
          </>
        );
      }}
    </Loaded>
  );
}

/** @param {{account_id: string, children: Shown}} props */
function Hosted({ account_id, children }) {
  const words = t().links;
  const read = useResource(
    "GET /v1/accounts/{account_id}",
    { account_id },
    { pace: ({ account }, polls, since_ms) => whileWorking(account, polls, since_ms) },
  );
  return (
    <Loaded read={read}>
      {({ account }) =>
        account.link_host ? (
          children(account, account.link_host.host)
        ) : (
          <Empty>
            <p>{words.noHost}</p>
            <p class="hint">{words.noHostWhy}</p>
            {account.state === "ready" ? (
              <div class="column">
                <SetHost id={account_id} done={read.again} />
              </div>
            ) : (
              <p>
                {t().account.host.later} <a href={`/accounts/${account_id}`}>{account.name}</a>
              </p>
            )}
          </Empty>
        )
      }
    </Loaded>
  );
}

/**
 * @param {string | null} account_id null to read nothing
 * @returns {string | null} where the account's link host redirects codes that do not exist; null if it shows a page
 */
export const useNotFoundUrl = (account_id) =>
  useResource("GET /v1/accounts/{account_id}", account_id === null ? null : { account_id }).data?.account.link_host
    ?.not_found_url ?? null;
