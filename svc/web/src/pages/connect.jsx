/** The form that connects an account, with the remedies for its errors. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { demonstration } from "../demonstration.js";
import { fill } from "../fill.js";
import { changed, useResource } from "../resource.js";
import { address, go, rememberPage } from "../router.js";
import { user } from "../session.js";
import { Field, Form } from "../ui/form.jsx";
import { Copy, ErrorMessage, Note, Page } from "../ui/parts.jsx";
import { SendAgain } from "../ui/send-again.jsx";
import { t } from "../words.js";
import { MakeToken, Outside, Revoke, StillValid, TokenField, Waiting, toRevoke } from "./account-token.jsx";

/** @typedef {import("../wire").Connect} Asked */

const ID = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/i;
/** The interval at which the form polls the progress of its request. */
const PROGRESS_MS = 2_000;
/** A page of the dashboard whose URL contains the account ID. Cloudflare asks for the account if there are several. */
const DASHBOARD = "https://dash.cloudflare.com/?to=/:account/workers-and-pages";

/** @param {string} text such as a dashboard URL @returns {string} the account ID in it; "" if there is none */
const idIn = (text) => ID.exec(text)?.[0].toLowerCase() ?? "";

export function Connect() {
  const words = t().account;
  const refused = useSignal(/** @type {ApiError | null} */ (null));
  const asked = useSignal("");
  const given = idIn(address.value.searchParams.get("account") ?? "");
  const id = useSignal(given);
  const sending = useSignal(false);
  const offered = useRef(demonstration()).current;
  /** If the user pastes a URL of the dashboard, keep only the account ID in the URL. @param {Event} event */
  const keepId = ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    id.value = idIn(target.value);
    if (id.value && id.value !== target.value) target.value = id.value;
  };
  return (
    <Page title={t().accounts.connect}>
      <p>{words.wizard.intro}</p>
      {offered && <Demonstration offered={offered} />}
      <Form
        submit={refused.value?.code === "cloudflare_unavailable" ? words.wizard.goOn : words.wizard.submit}
        busyLabel={words.wizard.asking}
        send={async ({ edge_account_id = "", bootstrap_token = "", location, name = "" }, key, form) => {
          const isHere = rememberPage();
          asked.value = edge_account_id.trim();
          sending.value = true;
          const body = /** @type {Asked} */ ({
            edge_account_id: asked.value,
            bootstrap_token: bootstrap_token.trim(),
            ...(location ? { location } : {}),
            ...(name.trim() ? { name: name.trim() } : {}),
          });
          try {
            const { account } = await call("POST /v1/accounts", { body, key });
            form.reset();
            changed("/v1/accounts", "/v1/me");
            if (isHere()) go(`/accounts/${account.id}`, { replace: true });
          } catch (error) {
            refused.value = error instanceof ApiError ? error : null;
            throw error;
          } finally {
            sending.value = false;
          }
        }}
        renderError={(error) => <Refused error={error} asked={asked.value} />}
      >
        <ol class="wizard">
          <Part title={words.wizard.account}>
            {!offered && (
              <p>
                <Outside href={DASHBOARD} quiet>
                  {words.wizard.dashboard}
                </Outside>
              </p>
            )}
            <Field
              name="edge_account_id"
              label={words.wizard.id}
              hint={words.wizard.idHint}
              defaultValue={given}
              autocomplete="off"
              onInput={keepId}
              required
            />
            <Field name="name" label={words.rename.name} hint={words.wizard.nameHint} autocomplete="off" optional />
            <Field name="location" label={words.wizard.location} hint={words.wizard.locationHint}>
              {Object.entries(words.locations).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </Field>
          </Part>
          <Part title={words.token.title}>
            {offered ? <p>{words.demonstration.noForm}</p> : <MakeToken refused={refused.value} account={id.value} />}
          </Part>
          <Part title={words.wizard.paste}>
            <TokenField />
          </Part>
        </ol>
        <Waiting text={sending.value ? <Progress asked={asked.value} /> : null} />
      </Form>
    </Page>
  );
}

/**
 * Text about what the running connect request is doing. @param {{asked: string}} props `asked`: the account ID of the
 * request
 */
function Progress({ asked }) {
  const words = t().account.wizard;
  const pace = { pace: () => PROGRESS_MS };
  const listed = useResource("GET /v1/accounts", {}, pace).data?.accounts;
  const found = listed?.find(({ edge_account_id }) => edge_account_id === asked);
  const read = useResource("GET /v1/accounts/{account_id}", found ? { account_id: found.id } : null, pace);
  // The operation is in the step `token` once Cloudflare has accepted the bootstrap token.
  return read.data?.account.operation?.step === "token" ? words.creating : words.settling;
}

/**
 * For demonstrations only: offers an emulated account that the user can connect.
 * @param {{offered: NonNullable<ReturnType<typeof demonstration>>}} props
 */
function Demonstration({ offered }) {
  const words = t().account.demonstration;
  const fillIn = () => {
    const { edge_account_id, bootstrap_token } = offered;
    Object.entries({ edge_account_id, bootstrap_token, name: words.name }).forEach(([name, value]) =>
      fill(name, value),
    );
    /** @type {HTMLElement | null} */ (document.querySelector("form [type=submit]"))?.focus();
  };
  return (
    <Note>
      <p class="message">{words.title}</p>
      <p>{words.text(offered.host)}</p>
      <dl>
        <dt>{t().account.wizard.id}</dt>
        <dd>
          <code id="demo-id">{offered.edge_account_id}</code> <Copy text={offered.edge_account_id} shownIn="demo-id" />
        </dd>
        <dt>{words.token}</dt>
        <dd>
          <code id="demo-token">{offered.bootstrap_token}</code>{" "}
          <Copy text={offered.bootstrap_token} shownIn="demo-token" />
        </dd>
      </dl>
      <p class="actions">
        <button type="button" onClick={fillIn}>
          {words.fill}
        </button>
      </p>
    </Note>
  );
}

/** @param {{title: string, children: import("preact").ComponentChildren}} props */
const Part = ({ title, children }) => (
  <li>
    <h2>{title}</h2>
    <div>{children}</div>
  </li>
);

/** @param {{error: ApiError, asked: string}} props `asked`: the account ID of the request */
function Refused({ error, asked }) {
  const words = t().account.wizard;
  return (
    <>
      <ErrorMessage error={error}>
        {error.code === "cloudflare_unavailable" && words.kept}
        {error.code === "already_connected" && <ToAccount asked={asked} />}
        {error.code === "limit_reached" && <a href="/profile">{words.toProfile}</a>}
      </ErrorMessage>
      {error.code === "email_unconfirmed" && <SendAgain email={user.value?.email ?? ""} kind="quiet" />}
      <Revoke names={toRevoke(error.details)} />
      <StillValid details={error.details} />
    </>
  );
}

/** @param {{asked: string}} props */
function ToAccount({ asked }) {
  const { data } = useResource("GET /v1/accounts", {});
  const found = data?.accounts.find(({ edge_account_id }) => edge_account_id === asked.toLowerCase());
  return <a href={found ? `/accounts/${found.id}` : "/accounts"}>{t().account.wizard.toAccount}</a>;
}
