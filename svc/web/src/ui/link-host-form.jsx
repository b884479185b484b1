/** The form that sets or changes an account's link host. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { changed, useResource } from "../resource.js";
import { t } from "../words.js";
import { DnsRecord } from "./dns-record.jsx";
import { Check, Field, Form } from "./form.jsx";
import { ErrorMessage } from "./parts.jsx";

/** @typedef {"replace_website" | "has_certificate"} Override an option that the user can enable after a rejection */

/** @param {{id: string, done: () => void}} props `id`: the account's id */
export function SetHost({ id, done }) {
  const { fields, renderError, send } = useHost(id, done);
  return (
    <Form submit={t().account.host.set} send={send} renderError={renderError}>
      {fields}
    </Form>
  );
}

/**
 * The form fields and submit handler for a link host. An option appears after a rejection that it can override.
 * @param {string} id of the account
 * @param {() => void} done
 */
export function useHost(id, done) {
  const override = useSignal(/** @type {Override | null} */ (null));
  return {
    fields: <HostFields id={id} override={override.value} />,
    renderError: (/** @type {ApiError} */ error) => <HostRefused error={error} />,
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

/**
 * The reason why a link host was rejected. @param {{error: ApiError | import("../wire").ErrorObject}} props
 */
export function HostRefused({ error }) {
  return (
    <>
      <ErrorMessage error={error} />
      <DnsRecord problem={error} />
    </>
  );
}
