/** API keys: list, create, rename and revoke. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { list } from "../format.js";
import { useKeys } from "../keys.js";
import { changed, useResource } from "../resource.js";
import { Confirm, Dialog } from "../ui/dialog.jsx";
import { Field, Form } from "../ui/form.jsx";
import { Help } from "../ui/help.jsx";
import { IssuedKey } from "../ui/issued-key.jsx";
import { DataTable } from "../ui/data-table.jsx";
import { NewKey } from "../ui/new-key.jsx";
import { Empty, KeyHint, Loaded, Note, Page } from "../ui/parts.jsx";
import { Quotas } from "../ui/quotas.jsx";
import { When } from "../ui/when.jsx";
import { t } from "../words.js";

/** @typedef {import("../wire").Key} Key */

export function Keys() {
  const words = t().keys;
  const keys = useResource("GET /v1/keys", {});
  const me = useResource("GET /v1/me", {});
  const accounts = useResource("GET /v1/accounts", {});
  const making = useSignal(false);
  const issued = useSignal(/** @type {import("../wire").IssuedKey | null} */ (null));
  const most = me.data?.limits.keys ?? Infinity;
  const full = (keys.data?.keys.length ?? 0) >= most;
  const make = () => (making.value = !full);
  useKeys([{ keys: "n", says: words.make, does: make }]);
  return (
    <Page
      title={words.title}
      head={
        !making.value &&
        !full &&
        keys.data?.keys.length !== 0 && (
          <button type="button" onClick={make}>
            {words.make} <KeyHint keys="n" />
          </button>
        )
      }
    >
      <p>
        {words.intro} <a href="/reference">{words.toReference}</a> <Help to="keys" />
      </p>
      {making.value && (
        <NewKey
          accounts={accounts.data?.accounts ?? []}
          close={() => (making.value = false)}
          issued={(key) => {
            making.value = false;
            issued.value = key;
            changed("/v1/keys", "/v1/me");
          }}
        />
      )}
      <Loaded read={keys}>
        {({ keys: own }) => (
          <>
            {own.length === 0 ? (
              <Empty>
                <p>{words.none}</p>
                {!making.value && (
                  <p>
                    <button type="button" onClick={make}>
                      {words.make}
                    </button>
                  </p>
                )}
              </Empty>
            ) : (
              <List keys={own} accounts={accounts.data?.accounts ?? []} />
            )}
            {me.data && (
              <section aria-label={t().profile.limits}>
                <Quotas rows={[{ title: words.title, used: own.length, most }]} />
                <p class="small">{words.plan(t().profile.plans[me.data.plan])}</p>
              </section>
            )}
            {full && <Note>{words.full}</Note>}
          </>
        )}
      </Loaded>
      {issued.value && <IssuedKey issued={issued.value} close={() => (issued.value = null)} />}
    </Page>
  );
}

/** @param {{keys: Key[], accounts: import("../wire").Account[]}} props */
function List({ keys, accounts }) {
  const words = t().keys;
  const renamed = useSignal(/** @type {Key | null} */ (null));
  const revoked = useSignal(/** @type {Key | null} */ (null));
  /** @param {string} edge_account_id */
  const nameOf = (edge_account_id) =>
    accounts.find((account) => account.edge_account_id === edge_account_id)?.name ?? edge_account_id;
  return (
    <>
      <DataTable
        label={words.title}
        rows={keys}
        id={({ id }) => id}
        columns={[
          { label: words.name, cell: (key) => <Named apiKey={key} /> },
          { label: words.may, cell: ({ scopes }) => list(scopes.map((scope) => words.scopes[scope].name)) },
          {
            label: words.only,
            cell: ({ allow_accounts, allow_ips }) => (
              <span>
                {allow_accounts ? words.onlyAccounts(list(allow_accounts.map(nameOf))) : words.allAccounts}
                <br />
                {allow_ips ? words.onlyAddresses(list(allow_ips)) : words.anyAddress}
              </span>
            ),
          },
          { label: words.made, cell: ({ created_at }) => <When at={created_at} /> },
          { label: words.used, cell: ({ last_used }) => (last_used ? <When at={last_used} /> : words.never) },
          {
            label: words.change,
            kind: "bare",
            cell: (key) => (
              <span class="row-actions">
                <button
                  type="button"
                  class="quiet"
                  aria-label={words.renameOf(titleOf(key))}
                  onClick={() => (renamed.value = key)}
                >
                  {words.rename}
                </button>
                <button
                  type="button"
                  class="quiet"
                  aria-label={words.revokeOf(titleOf(key))}
                  onClick={() => (revoked.value = key)}
                >
                  {words.revoke}
                </button>
              </span>
            ),
          },
        ]}
      />
      {renamed.value && <Rename apiKey={renamed.value} close={() => (renamed.value = null)} />}
      {revoked.value && <Revoke apiKey={revoked.value} close={() => (revoked.value = null)} />}
    </>
  );
}

/** @param {Key} key */
const titleOf = ({ name, prefix }) => name ?? `${prefix}…`;

/** @param {{apiKey: Key}} props */
const Named = ({ apiKey: { name, prefix } }) => (
  <span>
    {name ?? t().keys.unnamed}
    <br />
    <code class="small">{prefix}…</code>
  </span>
);

/** @param {{apiKey: Key, close: () => void}} props */
function Rename({ apiKey: key, close }) {
  const words = t().keys;
  return (
    <Dialog title={words.renameOf(titleOf(key))} close={close}>
      <Form
        submit={words.rename}
        send={async ({ name = "" }, idempotency_key) => {
          await call("PATCH /v1/keys/{key_id}", { key_id: key.id, body: { name }, key: idempotency_key });
          changed("/v1/keys");
          close();
        }}
        more={
          <button type="button" class="quiet" onClick={close}>
            {t().common.cancel}
          </button>
        }
      >
        <Field name="name" label={words.name} defaultValue={key.name ?? ""} maxLength={100} required />
      </Form>
    </Dialog>
  );
}

/** @param {{apiKey: Key, close: () => void}} props */
function Revoke({ apiKey: key, close }) {
  const words = t().keys;
  return (
    <Confirm
      title={words.revokeOf(titleOf(key))}
      submit={words.revoke}
      close={close}
      send={async (idempotency_key) => {
        await call("DELETE /v1/keys/{key_id}", { key_id: key.id, body: {}, key: idempotency_key });
        changed("/v1/keys", "/v1/me");
        close();
      }}
    >
      <p>{words.revokeText}</p>
      <p>
        <code>{key.prefix}…</code>
      </p>
    </Confirm>
  );
}
