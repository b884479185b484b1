/** Who I am here, and how the pages look in this browser. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { call } from "../api.js";
import { useResource } from "../resource.js";
import { language, shortcuts, theme } from "../settings.js";
import { Field, Form, Password } from "../ui/form.jsx";
import { Loaded, Mark, Page } from "../ui/parts.jsx";
import { SignOut } from "../ui/shell.jsx";
import { t } from "../words.js";

export function Profile() {
  const words = t().profile;
  const me = useResource("GET /v1/me", {});
  return (
    <Page title={words.title}>
      <Loaded read={me} rows={2}>
        {({ user, plan }) => (
          <dl class="facts">
            <div>
              <dt>{words.email}</dt>
              <dd>
                {user.email}{" "}
                <Mark kind={user.email_confirmed ? "good" : "watch"}>
                  {user.email_confirmed ? words.confirmed : words.unconfirmed}
                </Mark>
              </dd>
            </div>
            <div>
              <dt>{words.plan}</dt>
              <dd>{plan}</dd>
            </div>
          </dl>
        )}
      </Loaded>
      <section aria-labelledby="look">
        <h2 id="look">{words.look}</h2>
        <div class="choices">
          <Choice
            label={words.theme}
            of={theme}
            options={{ system: t().common.theme.system, light: t().common.theme.light, dark: t().common.theme.dark }}
          />
          <Choice
            label={words.language}
            of={language}
            options={{ system: words.asBrowser, en: "English", de: "Deutsch" }}
          />
          <Choice
            label={words.shortcuts}
            of={shortcuts}
            options={{ on: words.on, off: words.off }}
            hint={words.shortcutsHint}
          />
        </div>
      </section>
      <ChangePassword />
      <section aria-labelledby="session">
        <h2 id="session">{words.session}</h2>
        <p class="actions">
          <SignOut />
        </p>
      </section>
    </Page>
  );
}

function ChangePassword() {
  const words = t().profile;
  const changed = useSignal(false);
  return (
    <section aria-labelledby="password">
      <h2 id="password">{t().door.password}</h2>
      <div class="column">
        <Form
          submit={words.setPassword}
          send={async ({ old = "", new: chosen = "" }, key, form) => {
            changed.value = false;
            await call("POST /v1/me/password", { body: { old, new: chosen }, key });
            form.reset();
            changed.value = true;
          }}
        >
          <Field name="old" label={words.oldPassword} type="password" autocomplete="current-password" required />
          <Password
            name="new"
            label={t().door.newPassword}
            hint={t().door.passwordHint}
            autocomplete="new-password"
            required
          />
          <p role="status">{changed.value && words.passwordSet}</p>
        </Form>
      </div>
    </section>
  );
}

/**
 * A choice that holds at once.
 * @template {string} T
 * @param {{
 *   label: string,
 *   of: import("@preact/signals").Signal<T>,
 *   options: Record<T, string>,
 *   hint?: string,
 * }} props
 */
function Choice({ label, of, options, hint }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={of.value}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => (of.value = /** @type {T} */ (event.currentTarget.value))}
      >
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {/** @type {string} */ (text)}
          </option>
        ))}
      </select>
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </p>
  );
}
