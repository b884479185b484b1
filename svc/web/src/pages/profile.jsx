/** The profile page: user, limits, notifications, browser settings, password, sessions, export and deletion. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { call } from "../api.js";
import { moment, number } from "../format.js";
import { changed, useResource } from "../resource.js";
import { updateUser } from "../session.js";
import { chosenLanguage, language, profileLanguage, shortcuts, textLanguage, theme } from "../settings.js";
import { Choice } from "../ui/choice.jsx";
import { Export } from "../ui/export.jsx";
import { DeleteUser, UserDeleted } from "../ui/leave.jsx";
import { Field, Form, Password } from "../ui/form.jsx";
import { ErrorMessage, Loaded, Mark, Note, Page, Skeleton } from "../ui/parts.jsx";
import { Quotas } from "../ui/quotas.jsx";
import { SendAgain } from "../ui/send-again.jsx";
import { Sessions } from "../ui/sessions.jsx";
import { useWrite } from "../ui/write.js";
import { t } from "../words.js";

/** @typedef {import("../wire").Caller} Caller */

export function Profile() {
  const words = t().profile;
  const me = useResource("GET /v1/me", {});
  const sessions = useResource("GET /v1/me/sessions", {});
  const email = useResource("GET /v1/me/email", {});
  const left = useSignal(/** @type {import("../wire").Left | null} */ (null));
  if (left.value) return <UserDeleted left={left.value} />;
  return (
    <Page title={words.title}>
      {/* Render these parts together. Otherwise, a part that loads late could move a button just before the user
          clicks it. */}
      {me.loading || sessions.loading || email.loading ? (
        <Skeleton rows={12} />
      ) : (
        <>
          <Loaded read={me}>
            {(caller) => (
              <>
                <Facts caller={caller} />
                <Limits caller={caller} />
                <Notify caller={caller} take={me.put} />
              </>
            )}
          </Loaded>
          <BrowserSettings take={me.put} />
          {me.data?.user.email_confirmed && <ChangeEmail />}
          <ChangePassword />
          <Sessions />
          <Export />
          <DeleteUser left={(result) => (left.value = result)} />
        </>
      )}
    </Page>
  );
}

/** @param {{caller: Caller}} props */
function Facts({ caller: { user, plan } }) {
  const words = t().profile;
  return (
    <>
      <dl class="facts">
        <div>
          <dt>{words.email}</dt>
          <dd>
            {user.email}{" "}
            <Mark kind={user.email_confirmed ? "good" : "watch"}>
              {user.email_confirmed ? words.confirmed : words.unconfirmed}
            </Mark>
            {!user.email_confirmed && <SendAgain email={user.email} />}
          </dd>
        </div>
        <div>
          <dt>{words.plan}</dt>
          <dd>{words.plans[plan]}</dd>
        </div>
      </dl>
      {user.email_refused_at !== null && <Note kind="watch">{words.refused(moment(user.email_refused_at))}</Note>}
    </>
  );
}

/** @param {{caller: Caller}} props */
function Limits({ caller: { limits, use } }) {
  const words = t().profile;
  const { nav } = t().common;
  /** @type {["accounts" | "sites" | "links" | "keys", string][]} */
  const counted = [
    ["accounts", nav.accounts],
    ["sites", nav.sites],
    ["links", nav.links],
    ["keys", nav.keys],
  ];
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">{words.limits}</h2>
      <Quotas rows={counted.map(([name, title]) => ({ title, used: use[name], most: limits[name] }))} />
      <p class="small after">
        {words.rates(number(limits.requests_per_minute), number(limits.report_reads_per_minute))}
      </p>
    </section>
  );
}

/** @param {{caller: Caller, take: (caller: Caller) => void}} props shows a switch that takes effect immediately */
function Notify({ caller: { user }, take }) {
  const words = t().profile;
  const id = useId();
  const { busy, error, run } = useWrite();
  return (
    <section aria-labelledby="notify">
      <h2 id="notify">{words.notify}</h2>
      <p class="check">
        <input
          id={id}
          type="checkbox"
          role="switch"
          checked={user.notify}
          aria-disabled={busy}
          onClick={(event) => {
            // Until the service has stored the change, show the stored setting.
            event.preventDefault();
            run(async () => take(await call("PATCH /v1/me", { body: { notify: !user.notify } })));
          }}
        />
        <label for={id}>{words.notifyLabel}</label>
      </p>
      <p class="small">{words.notifyHint}</p>
      {error && <ErrorMessage error={error} />}
    </section>
  );
}

/** @param {{take: (caller: Caller) => void}} props */
function BrowserSettings({ take }) {
  const words = t().profile;
  const themes = t().common.theme;
  const { error, run } = useWrite();
  const emails = profileLanguage.value;
  return (
    <section aria-labelledby="appearance">
      <h2 id="appearance">{words.look}</h2>
      <div class="choices">
        <Choice
          label={words.theme}
          value={theme.value}
          choose={(chosen) => (theme.value = chosen)}
          options={{ system: themes.system, light: themes.light, dark: themes.dark }}
        />
        <Choice
          label={words.language}
          value={chosenLanguage()}
          choose={(chosen) => {
            language.value = chosen;
            run(async () => take(await storeLanguage()));
          }}
          options={{ browser: words.asBrowser, en: "English", de: "Deutsch" }}
          {...(emails && { hint: words.emails[emails] })}
        />
        <Choice
          label={words.shortcuts}
          value={shortcuts.value}
          choose={(chosen) => (shortcuts.value = chosen)}
          options={{ on: words.on, off: words.off }}
          hint={words.shortcutsHint}
        />
      </div>
      {error && <ErrorMessage error={error} />}
    </section>
  );
}

/** Store the interface language as the language of emails to the user. @returns {Promise<Caller>} */
async function storeLanguage() {
  for (;;) {
    const shown = textLanguage();
    const caller = await call("PATCH /v1/me", { body: { language: shown } });
    updateUser(caller.user);
    // The user may have chosen another language since the request was sent.
    if (shown === textLanguage()) return caller;
  }
}

/** An email address that is not confirmed yet. @param {{pending: import("../wire").PendingChange}} props */
function PendingEmail({ pending: { email, expires_at } }) {
  const words = t().profile;
  const { busy, error, run } = useWrite();
  return (
    <Note>
      <p>{words.pendingEmail(email, moment(expires_at))}</p>
      <p class="actions">
        <button
          type="button"
          class="quiet"
          aria-disabled={busy}
          onClick={() =>
            run(async () => {
              await call("DELETE /v1/me/email", { body: {} });
              changed("/v1/me/email");
            })
          }
        >
          {words.cancelEmail}
        </button>
      </p>
      {error && <ErrorMessage error={error} />}
    </Note>
  );
}

function ChangeEmail() {
  const words = t().profile;
  const sentTo = useSignal("");
  const read = useResource("GET /v1/me/email", {});
  const pending = read.data?.pending;
  return (
    <section aria-labelledby="email">
      <h2 id="email">{words.changeEmail}</h2>
      {read.error && <ErrorMessage error={read.error} />}
      {pending && <PendingEmail pending={pending} />}
      <div class="column">
        <Form
          submit={words.sendLink}
          clear
          send={async ({ email = "", password = "" }, key) => {
            sentTo.value = "";
            await call("POST /v1/me/email", { body: { email: email.trim(), password }, key });
            sentTo.value = email.trim();
            changed("/v1/me/email");
          }}
        >
          <Field name="email" label={words.newEmail} type="email" autocomplete="email" inputmode="email" required />
          <Field name="password" label={words.yourPassword} type="password" autocomplete="current-password" required />
          <p role="status">{sentTo.value && pending && words.linkSent(sentTo.value)}</p>
        </Form>
      </div>
    </section>
  );
}

function ChangePassword() {
  const words = t().profile;
  const done = useSignal(false);
  return (
    <section aria-labelledby="password">
      <h2 id="password">{t().session.password}</h2>
      <div class="column">
        <Form
          submit={words.setPassword}
          clear
          send={async ({ old = "", new: chosen = "" }, key) => {
            done.value = false;
            await call("POST /v1/me/password", { body: { old, new: chosen }, key });
            done.value = true;
            changed("/v1/me/sessions");
          }}
        >
          <Field name="old" label={words.oldPassword} type="password" autocomplete="current-password" required />
          <Password
            name="new"
            label={t().auth.newPassword}
            hint={t().auth.passwordHint}
            autocomplete="new-password"
            required
          />
          <p role="status">{done.value && words.passwordSet}</p>
        </Form>
      </div>
    </section>
  );
}
