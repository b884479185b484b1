/** The URLs to which a link host redirects `/` and unknown codes, with the form that changes them. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { Dialog } from "../ui/dialog.jsx";
import { Field, Form } from "../ui/form.jsx";
import { t } from "../words.js";

/**
 * @typedef {object} Shown
 * @property {string} id of the account
 * @property {import("../wire").LinkHost} host
 * @property {() => void} changed called after a change
 */

/** @param {Shown} props */
export function Redirects({ id, host, changed }) {
  const words = t().account.redirects;
  const changing = useSignal(false);
  return (
    <>
      <h3>{words.title}</h3>
      <dl class="facts">
        <div>
          <dt>{words.root}</dt>
          <dd>{host.root_url ?? words.page}</dd>
        </div>
        <div>
          <dt>{words.notFound}</dt>
          <dd>{host.not_found_url ?? words.page}</dd>
        </div>
      </dl>
      <p class="actions">
        <button type="button" class="quiet" onClick={() => (changing.value = true)}>
          {words.change}
        </button>
      </p>
      {changing.value && <Change id={id} host={host} changed={changed} close={() => (changing.value = false)} />}
    </>
  );
}

/** @param {Shown & {close: () => void}} props */
function Change({ id, host, changed, close }) {
  const words = t().account.redirects;
  return (
    <Dialog title={words.title} close={close}>
      <Form
        submit={words.submit}
        send={async ({ root_url = "", not_found_url = "" }, key) => {
          const body = { root_url: root_url.trim() || null, not_found_url: not_found_url.trim() || null };
          await call("PATCH /v1/accounts/{account_id}/link-host", { account_id: id, body, key });
          close();
          changed();
        }}
        more={
          <button type="button" class="quiet" onClick={close}>
            {t().common.cancel}
          </button>
        }
      >
        <p>{words.explain}</p>
        <UrlField name="root_url" label={words.root} value={host.root_url} />
        <UrlField name="not_found_url" label={words.notFound} value={host.not_found_url} />
      </Form>
    </Dialog>
  );
}

/** @param {{name: string, label: string, value: string | null}} props */
const UrlField = ({ name, label, value }) => (
  <Field
    name={name}
    label={label}
    defaultValue={value ?? ""}
    placeholder="https://www.example.com/"
    pasted="url"
    autocomplete="off"
    inputmode="url"
  />
);
