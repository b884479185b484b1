/** The section with an account's link host, its form and its DNS problems. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { number } from "../format.js";
import { changed, useResource } from "../resource.js";
import { Confirm } from "../ui/dialog.jsx";
import { DnsRecord } from "../ui/dns-record.jsx";
import { Check, Field, Form } from "../ui/form.jsx";
import { Help } from "../ui/help.jsx";
import { ErrorMessage, State } from "../ui/parts.jsx";
import { t } from "../words.js";
import { useHoldings } from "./account-facts.jsx";
import { Redirects } from "./account-redirects.jsx";

/** @typedef {import("../wire").FullAccount} Account */
/** @typedef {"replace_website" | "has_certificate"} Override an option that the user can enable after a rejection */

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
          {host.error && <Refused error={host.error} />}
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

/**
 * The form fields and submit handler for a link host. An option appears after a rejection that it can override.
 * @param {string} id of the account
 * @param {() => void} done
 */
function useHost(id, done) {
  const override = useSignal(/** @type {Override | null} */ (null));
  return {
    fields: <HostFields id={id} override={override.value} />,
    renderError: (/** @type {ApiError} */ error) => <Refused error={error} />,
    send: async (/** @type {Record<string, string>} */ values, /** @type {string} */ key) => {
      const allowed = Object.fromEntries(["replace_website", "has_certificate"].map((name) => [name, name in values]));
      try {
        const body = { host: (values.host ?? "").trim(), ...allowed };
        await call("PUT /v1/accounts/{account_id}/link-host", { account_id: id, body, key });
      } catch (error) {
        override.value = error instanceof ApiError ? whatMayBeAllowed(error) : null;
        throw error;
      }
      changed("/v1/links");
      done();
    },
  };
}

/** @param {ApiError} error @returns {Override | null} */
function whatMayBeAllowed({ code, details }) {
  if (code === "link_host_is_website" && details.why !== "site") return "replace_website";
  return code === "link_host_without_certificate" ? "has_certificate" : null;
}

/** @param {{id: string, done: () => void}} props */
function SetHost({ id, done }) {
  const { fields, renderError, send } = useHost(id, done);
  return (
    <Form submit={t().account.host.set} send={send} renderError={renderError}>
      {fields}
    </Form>
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
 * The clicks and QR code scans on the current host, which would fail after a change of the host. @param {{id: string}}
 * props
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

/** @param {{id: string, override: Override | null}} props */
function HostFields({ id, override }) {
  const words = t().account.host;
  const own = useId();
  const { data } = useResource("GET /v1/accounts/{account_id}/zones", { account_id: id });
  return (
    <>
      <Field
        name="host"
        label={words.label}
        hint={words.hint}
        placeholder="go.example.com"
        pasted="host"
        list={`${own}-zones`}
        autocomplete="off"
        inputmode="url"
        required
      />
      <datalist id={`${own}-zones`}>
        {data?.zones.map(({ name }) => (
          <option key={name} value={`go.${name}`} />
        ))}
      </datalist>
      {override && <Check name={override} label={override === "replace_website" ? words.replace : words.certificate} />}
    </>
  );
}

/** @param {{error: ApiError | import("../wire").ErrorObject}} props */
function Refused({ error }) {
  return (
    <>
      <ErrorMessage error={error} />
      <DnsRecord problem={error} />
    </>
  );
}
