/** The section with an account's link host, its state and its DNS problems. */

import { useSignal } from "@preact/signals";

import { number } from "../format.js";
import { useResource } from "../resource.js";
import { Confirm } from "../ui/dialog.jsx";
import { Help } from "../ui/help.jsx";
import { HostRefused, SetHost, useHost } from "../ui/link-host-form.jsx";
import { State } from "../ui/parts.jsx";
import { t } from "../words.js";
import { useHoldings } from "./account-facts.jsx";
import { Redirects } from "./account-redirects.jsx";

/** @typedef {import("../wire").FullAccount} Account */

/** @param {{account: Account, changed: () => void}} props */
export function Host({ account, changed: again }) {
  const words = t().account.host;
  const changing = useSignal(false);
  const links = useHoldings(account.id).links;
  const host = account.link_host;
  return (
    <section aria-labelledby="host">
      <h2 id="host">{words.title}</h2>
      <p>
        {!host && words.intro} <Help to="host" />
      </p>
      {host ? (
        <>
          <dl class="facts">
            <div>
              <dt>{words.label}</dt>
              <dd class="actions">
                <strong>{host.host}</strong>
                <button type="button" class="quiet" onClick={() => (changing.value = true)}>
                  {words.change}
                </button>
              </dd>
            </div>
            <div>
              <dt>{words.state}</dt>
              <dd>
                <State state={host.state} />
              </dd>
            </div>
            <div>
              <dt>{words.configuration}</dt>
              <dd>
                <State state={host.config === "pending" ? "config_pending" : host.config} />
              </dd>
            </div>
          </dl>
          {host.error && <HostRefused error={host.error} />}
          <Redirects id={account.id} host={host} changed={again} />
        </>
      ) : account.state === "ready" ? (
        <div class="column">
          <SetHost id={account.id} done={again} />
        </div>
      ) : (
        <p class="hint">{words.later}</p>
      )}
      {changing.value && host && (
        <ChangeHost
          id={account.id}
          host={host.host}
          hasLinks={links !== 0}
          done={again}
          close={() => (changing.value = false)}
        />
      )}
    </section>
  );
}

/** @param {{id: string, host: string, hasLinks: boolean, done: () => void, close: () => void}} props */
function ChangeHost({ id, host, hasLinks, done, close }) {
  const words = t().account.host;
  const { fields, renderError, send } = useHost(id, () => {
    close();
    done();
  });
  return (
    <Confirm
      title={words.changeTitle(host)}
      submit={words.change}
      send={(key, values) => send(values, key)}
      renderError={renderError}
      typed={hasLinks ? host : undefined}
      close={close}
    >
      <p>{words.changeWarning}</p>
      <Usage id={id} />
      {fields}
    </Confirm>
  );
}

/**
 * The number of recent clicks and QR code scans on the current host. After a change of the host, they would fail.
 * @param {{id: string}} props
 */
function Usage({ id }) {
  const words = t().account.host;
  const { data } = useResource("GET /v1/accounts/{account_id}/link-host/usage", { account_id: id });
  if (!data) return null;
  const { clicks_30d, scans_30d } = data.usage;
  return (
    <p>
      <strong>{words.usage(number(clicks_30d), scans_30d === null ? null : number(scans_30d))}</strong>
    </p>
  );
}
