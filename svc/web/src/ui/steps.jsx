/** The four setup steps until the first view. The next step is open and contains its form. */

import { call } from "../api.js";
import { changed } from "../resource.js";
import { go, rememberPage } from "../router.js";
import { t } from "../words.js";
import { Field, Form } from "./form.jsx";
import { ConnectAccount } from "./no-account.jsx";
import { Copy, Mark, State } from "./parts.jsx";
import { SendAgain } from "./send-again.jsx";

/**
 * @typedef {import("../wire").Account} Account
 * @typedef {import("../wire").Site} Site
 * @typedef {import("../wire").Link} Link
 */

/** @param {{user: import("../wire").User, accounts: Account[], sites: Site[], links: Link[]}} props */
export function Steps({ user, accounts, sites, links }) {
  const words = t().overview.steps;
  const installed = accounts.filter(({ edge }) => edge !== null);
  const steps = [
    { title: words.confirm, done: user.email_confirmed, control: () => <Confirm email={user.email} /> },
    { title: words.connect, done: installed.length > 0, control: () => <Connect accounts={accounts} /> },
    { title: words.add, done: sites.length + links.length > 0, control: () => <Add accounts={installed} /> },
    { title: words.view, done: false, control: () => <FirstView sites={sites} link={links[0]} /> },
  ];
  const open = steps.findIndex(({ done }) => !done);
  return (
    <section aria-label={words.label}>
      <p>{words.intro}</p>
      <ol class="first-steps">
        {steps.map(({ title, done, control }, i) => (
          <li key={title} class={i === open ? "open" : undefined} aria-current={i === open ? "step" : undefined}>
            <h2>
              {title} <Progress done={done} open={i === open} />
            </h2>
            {i === open && control()}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** @param {{done: boolean, open: boolean}} props */
function Progress({ done, open }) {
  const words = t().overview.steps;
  if (done) return <Mark kind="good">{words.done}</Mark>;
  return open ? <Mark kind="busy">{words.now}</Mark> : <Mark kind="none">{words.later}</Mark>;
}

/** @param {{email: string}} props */
const Confirm = ({ email }) => (
  <>
    <p>{t().overview.steps.confirmText(email)}</p>
    <SendAgain email={email} />
  </>
);

/** @param {{accounts: Account[]}} props accounts without a Worker */
function Connect({ accounts }) {
  const words = t().overview.steps;
  if (accounts.length === 0) {
    return (
      <>
        <p>{words.connectText}</p>
        <p class="actions">
          <ConnectAccount />
        </p>
      </>
    );
  }
  return (
    <>
      <p>{words.connecting}</p>
      <ul class="listed">
        {accounts.map(({ id, name, state }) => (
          <li key={id}>
            <a href={`/accounts/${id}`}>{name}</a> <State state={state} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** @param {{accounts: Account[]}} props */
function Add({ accounts }) {
  const words = t().overview.steps;
  const [first] = accounts;
  return (
    <>
      <p>{words.addText}</p>
      <div class="column">
        <Form
          submit={words.addSite}
          send={async ({ account_id = first?.id ?? "", host = "" }, key) => {
            const isHere = rememberPage();
            const { site } = await call("POST /v1/sites", { body: { account_id, host: host.trim() }, key });
            changed("/v1/sites", "/v1/me");
            if (isHere()) go(`/sites/${site.id}`);
          }}
        >
          {accounts.length > 1 && (
            <Field name="account_id" label={words.account}>
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
            hint={words.hostHint}
            pasted="host"
            inputmode="url"
            autocomplete="off"
            required
          />
        </Form>
      </div>
      <p>
        {words.orLinks} <a href={`/accounts/${first?.id}`}>{words.linkHost}</a> <a href="/links/new">{t().link.add}</a>
      </p>
    </>
  );
}

/** @param {{sites: Site[], link: Link | undefined}} props */
function FirstView({ sites, link }) {
  const words = t().overview.steps;
  return (
    <>
      {sites.length > 0 && (
        <>
          <p>{words.snippetText}</p>
          <ul class="listed">
            {sites.map(({ id, host, state, config }) => (
              <li key={id}>
                <a href={`/sites/${id}`}>{words.snippetOf(host)}</a>{" "}
                {(state !== "active" || config !== "synced") && (
                  <State state={state === "active" ? "config_pending" : state} />
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {link?.short_url && (
        <>
          <p>{words.clickText}</p>
          <p>
            <code id="short-url">{link.short_url}</code> <Copy text={link.short_url} shownIn="short-url" />
          </p>
        </>
      )}
    </>
  );
}
