/**
 * The page of an account. It begins with status, errors, plan usage and link host; all other sections are under
 * "Details".
 */

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { useKeys } from "../keys.js";
import { changed, isMissing, useResource, whileWorking } from "../resource.js";
import { keepInView } from "../keep-in-view.js";
import { address, go } from "../router.js";
import { Confirm, Dialog } from "../ui/dialog.jsx";
import { AccountEmailReports } from "../ui/email-reports.jsx";
import { Field, Form } from "../ui/form.jsx";
import { leftTexts } from "../ui/left.js";
import { Menu } from "../ui/menu.jsx";
import { NotFound } from "../ui/not-found.jsx";
import { ErrorMessage, Loaded, Page, State } from "../ui/parts.jsx";
import { ShareButton } from "../ui/shares.jsx";
import { useWrite } from "../ui/write.js";
import { useShownOnce } from "../unsent.js";
import { t } from "../words.js";
import { Check } from "./account-check.jsx";
import { Installed, Summary, useHoldings } from "./account-facts.jsx";
import { Host } from "./account-host.jsx";
import { Plan, Retention } from "./account-plan.jsx";
import { AccountErrors, Progress } from "./account-state.jsx";
import { Ledger } from "./account-statement.jsx";
import { MakeToken, Revoke, StillValid, TokenField, Waiting, toRevoke } from "./account-token.jsx";

/** @typedef {import("../wire").FullAccount} Account */
/** @typedef {"rename" | "renew" | "retention" | "disconnect"} Asking the open dialog */

/** Polling interval for the new advice after a plan change. The service needs a few seconds to update the advice. */
const ADVICE_MS = 2_000;
const ADVICE_WITHIN_MS = 30_000;

/** The ranges of `days_kept` and `months_kept` in the API. */
const MIN_DAYS = 14;
const MAX_DAYS = 35;
const MIN_MONTHS = 6;
const MAX_MONTHS = 1_200;

/** @param {{id: string}} props */
export function Account({ id }) {
  const words = t().account;
  const disconnected = useSignal(/** @type {import("../wire").Disconnected | null} */ (null));
  const asking = useSignal(/** @type {Asking | null} */ (null));
  const replanned = useSignal(false);
  const write = useWrite();
  const read = useResource(
    "GET /v1/accounts/{account_id}",
    { account_id: id },
    {
      pace: ({ account }, polls, since_ms) => {
        const computed = !replanned.value || account.advice !== null || since_ms > ADVICE_WITHIN_MS;
        const waits = [account, account.link_host].map((each) => whileWorking(each, polls, since_ms) ?? Infinity);
        const wait_ms = Math.min(...waits, computed ? Infinity : ADVICE_MS);
        return wait_ms === Infinity ? null : wait_ms;
      },
    },
  );
  const account = read.data?.account;
  useKeys([
    { keys: "r", says: t().common.shortcuts.again, does: read.again },
    ...(account ? [{ keys: "e", says: words.menu.rename, does: () => void (asking.value = "rename") }] : []),
  ]);

  /** @param {import("../wire").Account} answered the response of a write; the other data is reloaded */
  const show = (answered) => {
    if (account) read.put({ account: { ...account, ...answered } });
    changed("/v1/accounts");
  };
  const does = {
    install: () =>
      write.run(async (key) => {
        show((await call("POST /v1/accounts/{account_id}/install", { account_id: id, body: {}, key })).account);
      }, "install"),
    renew: () => void (asking.value = "renew"),
    disconnect: () => void (asking.value = "disconnect"),
    plan: (/** @type {Account["plan"]} */ plan) =>
      write.run(async (key) => {
        replanned.value = true;
        show((await call("PATCH /v1/accounts/{account_id}", { account_id: id, body: { plan }, key })).account);
      }, `plan ${plan}`),
  };

  if (disconnected.value) return <DisconnectResult result={disconnected.value} name={account?.name ?? ""} />;
  if (isMissing(read)) return <NotFound kind="account" />;
  return (
    <Page
      title={account?.name ?? words.one}
      head={
        account && (
          <>
            <p class="actions">
              <State state={account.state} />
              <button type="button" class="quiet" data-key="e" onClick={() => (asking.value = "rename")}>
                {words.menu.rename}
              </button>
              {account.token && <ShareButton kind="account" id={id} />}
              <Menu label={words.menu.label} items={rareActions(account, does, write.busy)} />
            </p>
            {account.token && <Summary account={account} />}
          </>
        )
      }
    >
      <Loaded read={read} rows={8}>
        {({ account }) => (
          <>
            {write.doing === "install" && <p role="status">{t().common.busy}</p>}
            {write.error && <ErrorMessage error={write.error} />}
            <Progress account={account} />
            <AccountErrors account={account} does={does} busy={write.busy} />
            {account.token && (
              <>
                <Plan
                  account={account}
                  choose={does.plan}
                  busy={write.doing.startsWith("plan")}
                  changeRetention={() => (asking.value = "retention")}
                />
                <Host account={account} changed={read.again} />
                <Details>
                  <Installed account={account} />
                  <Retention account={account} change={() => (asking.value = "retention")} />
                  <AccountEmailReports id={id} />
                  <Check id={id} checked={read.again} />
                  <Ledger id={id} />
                </Details>
              </>
            )}
            {asking.value === "rename" && <Rename account={account} show={show} close={() => (asking.value = null)} />}
            {asking.value === "renew" && <Renew account={account} show={show} close={() => (asking.value = null)} />}
            {asking.value === "retention" && (
              <ChangeRetention account={account} show={show} close={() => (asking.value = null)} />
            )}
            {asking.value === "disconnect" && (
              <Disconnect
                account={account}
                disconnected={(result) => (disconnected.value = result)}
                close={() => (asking.value = null)}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/**
 * @param {Account} account
 * @param {{install: () => void, renew: () => void, disconnect: () => void}} does
 * @param {boolean} busy
 * @returns {import("../ui/menu.jsx").Item[]} the rare actions that the account's state allows
 */
function rareActions({ token, state }, does, busy) {
  const words = t().account.menu;
  const renewable = state !== "pending" && state !== "bootstrap_lost";
  return [
    ...(token ? [{ text: words.install, does: does.install, disabled: busy }] : []),
    ...(renewable ? [{ text: words.renew, does: does.renew }] : []),
    { text: words.disconnect, does: does.disconnect, danger: true },
  ];
}

/** The sections below "Details". A URL fragment such as `#check` can name one of them. */
const DETAILS = ["details", "installed", "retention", "check", "ledger"];

/**
 * The sections that are rarely needed. They are open if the URL names one of them, or a day of the ledger.
 * @param {{children: import("preact").ComponentChildren}} props
 */
function Details({ children }) {
  const { hash, searchParams } = address.value;
  const named = hash.slice(1) || (searchParams.has("day") ? "ledger" : "");
  const isOpen = useSignal(DETAILS.includes(named));
  // Scroll to the section here, because browsers scroll only to elements that exist when the document loads.
  useLayoutEffect(() => {
    const section = DETAILS.includes(named) && document.getElementById(named);
    if (!section) return undefined;
    isOpen.value = true;
    return keepInView(section);
  }, [named]);
  return (
    <details id="details" class="more-sections" open={isOpen.value} onToggle={toggled}>
      <summary>
        <h2>{t().account.details}</h2>
      </summary>
      {children}
    </details>
  );

  /** @param {{currentTarget: HTMLDetailsElement}} event */
  function toggled({ currentTarget }) {
    isOpen.value = currentTarget.open;
  }
}

/**
 * @typedef {object} Shown
 * @property {Account} account
 * @property {(answered: import("../wire").Account) => void} show
 * @property {() => void} close
 */

/** @param {Shown} props */
function Rename({ account, show, close }) {
  const words = t().account;
  return (
    <Dialog title={words.menu.rename} close={close}>
      <Form
        submit={words.rename.submit}
        send={async ({ name = "" }, key) => {
          const body = { name };
          show((await call("PATCH /v1/accounts/{account_id}", { account_id: account.id, body, key })).account);
          close();
        }}
        more={<Cancel close={close} />}
      >
        <Field name="name" label={words.rename.name} defaultValue={account.name} autocomplete="off" required />
      </Form>
    </Dialog>
  );
}

/** @param {Shown} props */
function ChangeRetention({ account, show, close }) {
  const words = t().account.retention;
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      close={close}
      send={async (key, { days_kept = "", months_kept = "" }) => {
        /** @type {import("../wire").AccountChange} */
        const body = {
          days_kept: Number(days_kept),
          months_kept: months_kept === "" ? "forever" : Number(months_kept),
        };
        show((await call("PATCH /v1/accounts/{account_id}", { account_id: account.id, body, key })).account);
        close();
      }}
    >
      <p>{words.explain}</p>
      <Field
        name="days_kept"
        label={words.days}
        hint={words.range(MIN_DAYS, MAX_DAYS)}
        type="number"
        min={MIN_DAYS}
        max={MAX_DAYS}
        defaultValue={account.days_kept}
        autocomplete="off"
        required
      />
      <Field
        name="months_kept"
        label={words.months}
        hint={words.monthsHint(MIN_MONTHS)}
        optional
        type="number"
        min={MIN_MONTHS}
        max={MAX_MONTHS}
        defaultValue={account.months_kept === "forever" ? "" : account.months_kept}
        autocomplete="off"
      />
    </Confirm>
  );
}

/** @param {Shown} props */
function Renew({ account, show, close }) {
  const words = t().account;
  const refused = useSignal(/** @type {ApiError | null} */ (null));
  const sending = useSignal(false);
  return (
    <Dialog title={words.renew.title(account.name)} close={close}>
      <p>{words.renew.explain}</p>
      <MakeToken refused={refused.value} account={account.edge_account_id} />
      <Form
        submit={refused.value?.code === "cloudflare_unavailable" ? words.wizard.goOn : words.renew.submit}
        busyLabel={words.wizard.asking}
        send={async ({ bootstrap_token = "" }, key) => {
          const body = { bootstrap_token: bootstrap_token.trim() };
          sending.value = true;
          try {
            show((await call("POST /v1/accounts/{account_id}/token", { account_id: account.id, body, key })).account);
            close();
          } catch (error) {
            refused.value = error instanceof ApiError ? error : null;
            throw error;
          } finally {
            sending.value = false;
          }
        }}
        renderError={(error) => (
          <>
            <ErrorMessage error={error}>{error.code === "cloudflare_unavailable" && words.wizard.kept}</ErrorMessage>
            <Revoke names={toRevoke(error.details)} />
            <StillValid details={error.details} />
          </>
        )}
        more={<Cancel close={close} />}
      >
        <TokenField />
        <Waiting text={sending.value ? words.wizard.settling : null} />
      </Form>
    </Dialog>
  );
}

/** @param {Omit<Shown, "show"> & {disconnected: (result: import("../wire").Disconnected) => void}} props */
function Disconnect({ account, disconnected, close }) {
  const words = t().account.disconnect;
  const { sites, links } = useHoldings(account.id);
  const isEmpty = sites === 0 && links === 0;
  return (
    <Confirm
      title={words.title(account.name)}
      submit={words.submit}
      busyLabel={words.asking}
      typed={isEmpty ? undefined : account.name}
      close={close}
      send={async (key) => {
        disconnected(await call("DELETE /v1/accounts/{account_id}", { account_id: account.id, body: {}, key }));
        changed("/v1/accounts", "/v1/sites", "/v1/links", "/v1/me");
      }}
    >
      <p>{words.explain}</p>
      <p>{words.stays}</p>
    </Confirm>
  );
}

/** @param {{close: () => void}} props */
const Cancel = ({ close }) => (
  <button type="button" class="quiet" onClick={close}>
    {t().common.cancel}
  </button>
);

/** @param {{result: import("../wire").Disconnected, name: string}} props the result of the disconnect operation */
function DisconnectResult({ result: { left, leftovers, revoke_token }, name }) {
  const words = t().account;
  useShownOnce(left.length > 0 || revoke_token !== null);
  return (
    <Page title={`${words.disconnect.done}: ${name}`} focus>
      {left.length === 0 ? (
        <p>{revoke_token ? words.disconnect.cleanButToken : words.disconnect.clean}</p>
      ) : (
        <>
          <p>{words.disconnect.left}</p>
          <ul>
            {leftTexts(left, leftovers).map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
      <Revoke names={revoke_token ? [revoke_token] : []} />
      <p>{words.disconnect.kept}</p>
      <ul>
        <li>
          <a href="/sites?state=deleted">{t().sites.showDeleted}</a>
        </li>
        <li>
          <a href="/links?state=deleted">{t().link.showDeleted}</a>
        </li>
      </ul>
      <p>
        <button type="button" onClick={() => go("/accounts")}>
          {words.disconnect.back}
        </button>
      </p>
    </Page>
  );
}
