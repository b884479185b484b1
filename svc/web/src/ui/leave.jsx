/** The deletion of a user, and the list of the resources that remain, which cannot be shown again. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { end } from "../session.js";
import { useShownOnce } from "../unsent.js";
import { t } from "../words.js";
import { Confirm } from "./dialog.jsx";
import { Field } from "./form.jsx";
import { leftTexts } from "./left.js";
import { Copy, Note, Page } from "./parts.jsx";

/** @typedef {import("../wire").Left} Left */

/** @param {{left: (result: Left) => void}} props `left`: called after the deletion, to show `UserDeleted` */
export function DeleteUser({ left }) {
  const words = t().profile.leave;
  const asked = useSignal(false);
  return (
    <section aria-labelledby="leave">
      <h2 id="leave">{words.title}</h2>
      <p>{words.text}</p>
      <p class="actions">
        <button type="button" class="quiet" onClick={() => (asked.value = true)}>
          {words.ask}
        </button>
      </p>
      {asked.value && (
        <Confirm
          title={words.sure}
          submit={words.submit}
          close={() => (asked.value = false)}
          send={async (key, { password = "" }) => left(await call("DELETE /v1/me", { body: { password }, key }))}
        >
          <ol>
            {words.order.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
          <p>{words.minutes}</p>
          <Field
            name="password"
            label={t().session.password}
            type="password"
            autocomplete="current-password"
            required
          />
        </Confirm>
      )}
    </section>
  );
}

/**
 * @param {{left: Left}} props the resources that remain. The service has already ended the session. The application
 *   drops the session only when the user closes this page
 */
export function UserDeleted({ left: { left: sentences, leftovers, revoke_tokens: tokens } }) {
  const words = t().profile.leave;
  const left = leftTexts(sentences, leftovers);
  useShownOnce(left.length + tokens.length > 0);
  return (
    <Page key="deleted" title={words.gone} focus>
      <p>{words.goneText}</p>
      {left.length + tokens.length > 0 && <Note kind="watch">{words.onlyHere}</Note>}
      {tokens.length > 0 && (
        <section aria-labelledby="tokens">
          <h2 id="tokens">{words.tokens}</h2>
          <p>{words.tokensText}</p>
          <ul class="listed">
            {tokens.map((token, i) => (
              <li key={token}>
                <code id={`token-${i}`}>{token}</code> <Copy text={token} shownIn={`token-${i}`} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {left.length > 0 && (
        <section aria-labelledby="left">
          <h2 id="left">{words.left}</h2>
          <ul id="left-list">
            {left.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
          <Copy text={left.join("\n")} shownIn="left-list" />
        </section>
      )}
      <p class="actions">
        <button type="button" onClick={end}>
          {words.done}
        </button>
      </p>
    </Page>
  );
}
