/** The form for a new API key: permissions, accounts and IP addresses. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { t } from "../words.js";
import { Check, Field, Form, Group } from "./form.jsx";

/** @type {import("../wire").Key["scopes"]} */
const SCOPES = ["accounts", "sites", "links", "reports"];

/** The preselected scope of a new key. It is the only scope that cannot change anything. */
const DEFAULT_SCOPE = "reports";

/**
 * @param {{
 *   accounts: import("../wire").Account[],
 *   close: () => void,
 *   issued: (key: import("../wire").IssuedKey) => void,
 * }} props `issued`: gets the only response that contains the key's value
 */
export function NewKey({ accounts, close, issued }) {
  const words = t().keys;
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  const someAccounts = useSignal(false);
  const someAddresses = useSignal(false);
  useLayoutEffect(() => section.current?.querySelector("input")?.focus(), []);
  return (
    <section ref={section} class="sheet" aria-labelledby="new-key">
      <h2 id="new-key">{words.make}</h2>
      <Form
        submit={words.submit}
        send={async (_, key, form) => issued(await call("POST /v1/keys", { body: bodyOf(form), key }))}
        more={
          <button type="button" class="quiet" onClick={close}>
            {t().common.cancel}
          </button>
        }
      >
        <div class="column">
          <Field name="name" label={words.name} hint={words.nameHint} maxLength={100} autocomplete="off" optional />
        </div>
        <Group name="scopes" legend={words.may}>
          {SCOPES.map((scope) => (
            <Check
              key={scope}
              name="scopes"
              value={scope}
              defaultChecked={scope === DEFAULT_SCOPE}
              label={
                <>
                  {words.scopes[scope].name} <span class="small">{words.scopes[scope].about}</span>
                </>
              }
            />
          ))}
        </Group>
        <Group name="allow_accounts" legend={words.where}>
          <Choice chosen={someAccounts} name="accounts" any={words.allAccounts} some={words.theseAccounts} />
          {someAccounts.value &&
            accounts.map(({ id, edge_account_id, name }) => (
              <div key={id} class="under">
                <Check name="allow_accounts" value={edge_account_id} label={name} />
              </div>
            ))}
          {someAccounts.value && accounts.length === 0 && <p class="small under">{words.noAccounts}</p>}
        </Group>
        <Group name="ips" legend={words.fromWhere}>
          <Choice chosen={someAddresses} name="addresses" any={words.anyAddress} some={words.theseAddresses} />
        </Group>
        {someAddresses.value && (
          <div class="column under">
            <Field area name="allow_ips" label={words.addresses} hint={words.addressesHint} rows={3} />
          </div>
        )}
        <p class="small">{words.forGood}</p>
      </Form>
    </section>
  );
}

/** @param {{chosen: import("@preact/signals").Signal<boolean>, name: string, any: string, some: string}} props */
const Choice = ({ chosen, name, any, some }) => (
  <>
    <Check
      type="radio"
      name={name}
      value="any"
      label={any}
      checked={!chosen.value}
      onChange={() => (chosen.value = false)}
    />
    <Check
      type="radio"
      name={name}
      value="some"
      label={some}
      checked={chosen.value}
      onChange={() => (chosen.value = true)}
    />
  </>
);

/**
 * @param {HTMLFormElement} form
 * @returns {import("../wire").NewKey} the body of the request; the API validates it
 */
function bodyOf(form) {
  const values = new FormData(form);
  /** @param {string} name */
  const text = (name) => String(values.get(name) ?? "").trim();
  return {
    scopes: /** @type {import("../wire").Key["scopes"]} */ (values.getAll("scopes")),
    name: text("name") || null,
    allow_accounts: values.get("accounts") === "some" ? values.getAll("allow_accounts").map(String) : null,
    allow_ips: values.get("addresses") === "some" ? text("allow_ips").split(/[\s,]+/) : null,
  };
}
