/** Which account a link is made in, and that it has a host for links: without, what to do. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { useResource } from "../resource.js";
import { t } from "../words.js";
import { Empty, Loaded } from "./parts.jsx";

/**
 * @typedef {import("../wire").FullAccount} FullAccount
 * @typedef {(account: FullAccount, host: string) => import("preact").ComponentChildren} Shown
 */

/**
 * Asks for the account where there are several.
 * @param {{children: Shown}} props
 */
export function WithLinkHost({ children }) {
  const words = t().links;
  const id = useId();
  const read = useResource("GET /v1/accounts", {});
  const chosen = useSignal("");
  return (
    <Loaded read={read}>
      {({ accounts }) => {
        const account_id = chosen.value || accounts[0]?.id;
        if (!account_id) return <NoAccount />;
        return (
          <>
            {accounts.length > 1 && (
              <p class="field column">
                <label for={id}>{words.account}</label>
                <select id={id} value={account_id} onChange={(event) => (chosen.value = event.currentTarget.value)}>
                  {accounts.map((one) => (
                    <option key={one.id} value={one.id}>
                      {one.name}
                    </option>
                  ))}
                </select>
              </p>
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
  const read = useResource("GET /v1/accounts/{account_id}", { account_id });
  return (
    <Loaded read={read}>
      {({ account }) =>
        account.link_host ? (
          children(account, account.link_host.host)
        ) : (
          <Empty>
            <p>{words.noHost}</p>
            <p class="hint">{words.noHostWhy}</p>
            <p>
              <a class="button" href={`/accounts/${account_id}`}>
                {words.chooseHost}
              </a>
            </p>
          </Empty>
        )
      }
    </Loaded>
  );
}

/** Links need an account, and there is none. */
export function NoAccount() {
  return (
    <Empty>
      <p>{t().links.noAccount}</p>
      <p>
        <a class="button" href="/accounts/connect">
          {t().accounts.connect}
        </a>
      </p>
    </Empty>
  );
}
