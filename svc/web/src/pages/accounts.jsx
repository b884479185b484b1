/** The list of accounts. */

import { ago } from "../format.js";
import { useKeys } from "../keys.js";
import { useResource, whileWorking } from "../resource.js";
import { visit } from "../router.js";
import { DataTable } from "../ui/data-table.jsx";
import { ConnectAccount, NoAccount } from "../ui/no-account.jsx";
import { Loaded, Mark, Page, State } from "../ui/parts.jsx";
import { t } from "../words.js";

/** @typedef {import("../wire").Account} Account */

/** The status mark for each usage level. @type {Record<string, "good" | "watch" | "bad">} */
const LEVELS = { ok: "good", watch: "watch", upgrade_soon: "watch", over: "bad" };

/** @type {import("../resource.js").Pace} */
const whileAnyWorks = ({ accounts }, polls, since_ms) => {
  const waits = accounts.map((/** @type {Account} */ each) => whileWorking(each, polls, since_ms) ?? Infinity);
  const wait_ms = Math.min(...waits);
  return wait_ms === Infinity ? null : wait_ms;
};

/** @param {{level: import("../wire").MetricAdvice["level"]}} props */
export const Level = ({ level }) => <Mark kind={LEVELS[level] ?? "none"}>{t().account.levels[level] ?? level}</Mark>;

export function Accounts() {
  const words = t().account;
  const read = useResource("GET /v1/accounts", {}, { pace: whileAnyWorks });
  useKeys([
    { keys: "n", says: t().accounts.connect, does: () => visit("/accounts/connect") },
    { keys: "r", says: t().common.shortcuts.again, does: read.again },
  ]);
  return (
    <Page title={t().accounts.title} head={read.data?.accounts.length ? <ConnectAccount hint /> : undefined}>
      <Loaded read={read}>
        {({ accounts }) =>
          accounts.length === 0 ? (
            <NoAccount>{words.empty}</NoAccount>
          ) : (
            <DataTable
              label={t().accounts.title}
              rows={accounts}
              id={({ id }) => id}
              columns={[
                {
                  label: words.columns.account,
                  cell: ({ id, name, edge_account_id }) => (
                    <>
                      <a href={`/accounts/${id}`}>{name}</a>{" "}
                      <code class="small" title={edge_account_id}>
                        {edge_account_id.slice(0, 8)}
                      </code>
                    </>
                  ),
                },
                { label: words.columns.state, kind: "primary", cell: ({ state }) => <State state={state} /> },
                {
                  label: words.columns.use,
                  cell: ({ advice }) =>
                    advice?.level ? <Level level={advice.level} /> : <Quiet>{words.notKnown}</Quiet>,
                },
                {
                  label: words.columns.report,
                  cell: ({ push }) => (push ? ago(push.at) : <Quiet>{words.noReport}</Quiet>),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

/** @param {{children: string}} props */
const Quiet = ({ children }) => <span class="hint">{children}</span>;
