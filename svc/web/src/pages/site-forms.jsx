/** The form for a new site, and the settings of a site. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { fill } from "../fill.js";
import { moment } from "../format.js";
import { changed, isMissing, useResource, whileWorking } from "../resource.js";
import { address, go, rememberPage } from "../router.js";
import { Confirm } from "../ui/dialog.jsx";
import { DisabledNote } from "../ui/disabled.jsx";
import { HostWarnings } from "../ui/dns-record.jsx";
import { SiteEmailReports } from "../ui/email-reports.jsx";
import { ExcludedVisitors, excludedVisitors } from "../ui/excluded-visitors.jsx";
import { Check, Field, Form } from "../ui/form.jsx";
import { ImportTotals } from "../ui/import-totals.jsx";
import { NoAccount } from "../ui/no-account.jsx";
import { NotFound } from "../ui/not-found.jsx";
import { OptOut } from "../ui/opt-out.jsx";
import { ErrorMessage, Loaded, Note, Page } from "../ui/parts.jsx";
import { SnippetSection } from "../ui/snippet.jsx";
import { t } from "../words.js";

/** @typedef {import("../wire").Site} Site */

// Maximum number of accounts whose zones are read at the same time. With more accounts, the user first selects an
// account.
const ACCOUNTS_READ = 5;
const ZONES_OFFERED = 12;

export function NewSite() {
  const words = t().sites;
  const accounts = useResource("GET /v1/accounts", {});
  return (
    <Page title={t().site.add}>
      <Loaded read={accounts}>
        {({ accounts: found }) =>
          found.length === 0 ? <NoAccount>{words.emptyAccount}</NoAccount> : <AddForm accounts={found} />
        }
      </Loaded>
    </Page>
  );
}

/** @param {{accounts: import("../wire").Account[]}} props */
function AddForm({ accounts }) {
  const words = t().sites;
  // The page of an account links to this form with the account's id.
  const asked = address.value.searchParams.get("account_id");
  const account = useSignal((accounts.find(({ id }) => id === asked) ?? accounts[0])?.id ?? "");
  const { zones, truncated } = useNewZones(account.value);
  return (
    <div class="column wide">
      <Form
        submit={t().site.add}
        send={async ({ host = "", ...others }, key) => {
          const isHere = rememberPage();
          const body = { account_id: account.value, host: host.trim(), ...uncounted(others) };
          const { site } = await call("POST /v1/sites", { body, key });
          changed("/v1/sites");
          if (isHere()) go(`/sites/${site.id}`);
        }}
      >
        {accounts.length > 1 && (
          <Field
            name="account_id"
            label={words.account}
            value={account.value}
            onChange={(/** @type {any} */ event) => (account.value = event.currentTarget.value)}
          >
            {accounts.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Field>
        )}
        <Field
          name="host"
          label={words.host}
          hint={truncated ? `${words.hostHint} ${words.zonesCut}` : words.hostHint}
          pasted="host"
          inputmode="url"
          autocomplete="off"
          list="zones"
          required
        />
        <datalist id="zones">
          {zones.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <ul class="zone-choices" aria-label={words.zones}>
          {(accounts.length > ACCOUNTS_READ ? accounts.filter(({ id }) => id === account.value) : accounts).map(
            ({ id }) => (
              <ZoneChoices key={id} accountId={id} choose={() => (account.value = id)} />
            ),
          )}
        </ul>
        <details class="more">
          <summary>{words.more}</summary>
          <Uncounted />
        </details>
      </Form>
    </div>
  );
}

/**
 * The names of the account's zones that are not sites yet. The list is empty until the sites have been read.
 * @param {string} account_id
 * @returns {{zones: string[], truncated: boolean}} `truncated`: the account has more zones than the service lists
 */
function useNewZones(account_id) {
  const zones = useResource("GET /v1/accounts/{account_id}/zones", { account_id });
  const sites = useResource("GET /v1/sites", { account_id });
  const taken = new Set(sites.data?.sites.map(({ host }) => host));
  const names = sites.loading ? [] : (zones.data?.zones ?? []).map(({ name }) => name);
  return { zones: names.filter((name) => !taken.has(name)), truncated: zones.data?.truncated ?? false };
}

/**
 * Buttons for the first zones of an account. A button fills in the host.
 * @param {{accountId: string, choose: () => void}} props `choose`: selects the account
 */
function ZoneChoices({ accountId, choose }) {
  const { zones } = useNewZones(accountId);
  return (
    <>
      {zones.slice(0, ZONES_OFFERED).map((name) => (
        <li key={name}>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              choose();
              fill("host", name);
            }}
          >
            {name}
          </button>
        </li>
      ))}
    </>
  );
}

/** The fields for paths and visitors that are not counted. @param {{site?: Site}} props */
function Uncounted({ site }) {
  const words = t().sites;
  return (
    <>
      <Field
        name="excluded_paths"
        label={words.excluded}
        hint={words.excludedHint}
        area
        optional={!site}
        rows={4}
        defaultValue={site?.excluded_paths.join("\n") ?? ""}
      />
      <ExcludedVisitors site={site} />
      <Check name="respect_gpc" label={words.gpc} defaultChecked={site?.respect_gpc ?? false} />
      <Check name="visitor_opt_out" label={words.optOut.offer} defaultChecked={site?.visitor_opt_out ?? false} />
    </>
  );
}

/** @param {Record<string, string>} values of the fields in `Uncounted` @returns the fields of the body */
function uncounted({ excluded_paths = "", respect_gpc, visitor_opt_out, ...visitors }) {
  const lines = excluded_paths.split("\n").map((line) => line.trim());
  return {
    excluded_paths: lines.filter(Boolean),
    respect_gpc: respect_gpc !== undefined,
    visitor_opt_out: visitor_opt_out !== undefined,
    ...excludedVisitors(visitors),
  };
}

/** @param {{id: string}} props */
export function SiteSettings({ id }) {
  const words = t().sites;
  const read = useResource(
    "GET /v1/sites/{site_id}",
    { site_id: id },
    { pace: ({ site }, polls, since_ms) => whileWorking(site, polls, since_ms) },
  );
  const host = read.data?.site.host;
  if (isMissing(read)) return <NotFound kind="site" />;
  return (
    <Page
      title={host ? `${host}: ${t().site.settings}` : t().site.settings}
      head={
        <p class="actions">
          <a class="button quiet" href={`/sites/${id}`}>
            {words.report}
          </a>
        </p>
      }
    >
      <Loaded read={read}>
        {({ site }) => (
          <>
            <DisabledNote kind="site" disabled={site.disabled} />
            {site.error && <ErrorMessage error={site.error} />}
            <HostWarnings warnings={site.warnings} />
            {site.state === "deleted" ? (
              <Note>
                <p>{t().site.deletedNote}</p>
              </Note>
            ) : (
              <Settings site={site} put={(newer) => read.put({ site: newer })} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** @param {{site: Site, put: (site: Site) => void}} props */
function Settings({ site, put }) {
  const words = t().sites;
  const asks = useSignal(/** @type {"" | "rotate" | "delete"} */ (""));
  const close = () => (asks.value = "");
  return (
    <>
      {!site.disabled && (
        <section aria-labelledby="uncounted">
          <h2 id="uncounted">{words.more}</h2>
          <Change site={site} put={put} />
          {site.visitor_opt_out && <OptOut site={site} />}
        </section>
      )}
      <SnippetSection site={site} />
      {!site.disabled && (
        <section aria-labelledby="rotate">
          <h2 id="rotate">{words.rotate}</h2>
          <p>{words.rotateWhy}</p>
          {site.retiring.length > 0 && (
            <>
              <h3>{words.retiring}</h3>
              <ul>
                {site.retiring.map(({ path, until }) => (
                  <li key={path}>
                    <code>{path}</code> <span class="small">{words.until(moment(until))}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
          <p class="actions">
            <button type="button" class="quiet" onClick={() => (asks.value = "rotate")}>
              {words.rotate}
            </button>
          </p>
        </section>
      )}
      <SiteEmailReports id={site.id} />
      <ImportTotals kind="site" id={site.id} />
      <section aria-labelledby="delete">
        <h2 id="delete">{words.remove}</h2>
        <p>{words.removeWhy}</p>
        <p class="actions">
          <button type="button" class="quiet" onClick={() => (asks.value = "delete")}>
            {words.remove}
          </button>
        </p>
      </section>
      {asks.value === "rotate" && (
        <Confirm
          title={words.rotateTitle(site.host)}
          submit={words.rotate}
          close={close}
          send={async (key) => {
            put((await call("POST /v1/sites/{site_id}/rotate", { site_id: site.id, body: {}, key })).site);
            changed("/v1/sites?");
            close();
          }}
        >
          <p>{words.rotateWhat}</p>
          {site.visitor_opt_out && <p>{words.optOut.rotate}</p>}
        </Confirm>
      )}
      {asks.value === "delete" && (
        <Confirm
          title={words.removeTitle(site.host)}
          submit={words.remove}
          typed={site.first_view_at === null ? undefined : site.host}
          close={close}
          send={async (key) => {
            const isHere = rememberPage();
            await call("DELETE /v1/sites/{site_id}", { site_id: site.id, body: {}, key });
            changed("/v1/sites");
            if (isHere()) go("/sites");
          }}
        >
          <p>{words.removeWhat}</p>
        </Confirm>
      )}
    </>
  );
}

/** @param {{site: Site, put: (site: Site) => void}} props */
function Change({ site, put }) {
  const words = t().sites;
  const saved = useSignal(false);
  return (
    <div class="column wide" onInput={() => (saved.value = false)}>
      <Form
        submit={words.save}
        send={async (values, key) => {
          const body = uncounted(values);
          put((await call("PATCH /v1/sites/{site_id}", { site_id: site.id, body, key })).site);
          changed("/v1/sites?");
          saved.value = true;
        }}
      >
        <Uncounted site={site} />
        <p role="status">{saved.value && (site.config === "pending" ? words.savedPending : words.saved)}</p>
      </Form>
    </div>
  );
}
