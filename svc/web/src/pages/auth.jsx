/** Pages for signed-out users (sign-in, sign-up, email confirmation, password reset), and the "not found" page. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { ApiError } from "../http.js";
import { address, go, hasNavigated, rememberPage, replaceAddress, safeNext } from "../router.js";
import { end, ended, signIn, user } from "../session.js";
import { forgetAddress, keepAddress, keptAddress } from "../sign-up-address.js";
import { About } from "../ui/about.jsx";
import { Field, Form, Password } from "../ui/form.jsx";
import { ErrorMessage, Loaded, Note, Page } from "../ui/parts.jsx";
import { SendAgain } from "../ui/send-again.jsx";
import { InvitedUntil, Refused, canSignUp, useOffer } from "../ui/sign-up-offer.jsx";
import { t } from "../words.js";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * A page next to a description of the product.
 * @param {{title: string, focus?: boolean, children: Children}} props
 */
const Entrance = ({ title, focus = false, children }) => (
  <Page title={title} focus={focus}>
    <div class="entrance">
      <div>{children}</div>
      <About />
    </div>
  </Page>
);

/** @param {{value?: string, readOnly?: boolean}} props */
const Email = ({ value = "", readOnly = false }) => (
  <Field
    name="email"
    label={t().session.email}
    type="email"
    autocomplete="username"
    inputmode="email"
    required
    readOnly={readOnly}
    defaultValue={value}
  />
);

/**
 * After a navigation, move the focus from the heading to the first empty field, so that users can type immediately.
 * @param {boolean} [wanted] false if the page shows a message that users should read first
 */
function useFirstField(wanted = true) {
  useLayoutEffect(() => {
    if (!wanted || !hasNavigated()) return;
    const fields = document.querySelectorAll("main input");
    const first = [...fields].find((field) => field instanceof HTMLInputElement && field.value === "");
    if (first instanceof HTMLElement) first.focus({ preventScroll: true });
  }, []);
}

/** @param {{label: string}} props */
export const NewPassword = ({ label }) => (
  <Password name="password" label={label} hint={t().auth.passwordHint} autocomplete="new-password" required />
);

export function SignIn() {
  const words = t().auth;
  const next = safeNext(address.value.searchParams.get("next"));
  const signedIn = Boolean(user.value);
  useEffect(() => {
    if (signedIn) go(next, { replace: true });
  }, [signedIn]);
  useFirstField(ended.value === "");
  const why = { expired: words.signIn.expired, elsewhere: words.signIn.elsewhere, here: words.signIn.left, "": "" };
  return (
    <Entrance title={words.signIn.title}>
      {ended.value !== "" && <Note>{why[ended.value]}</Note>}
      <Form
        guard={false}
        submit={words.signIn.submit}
        send={async ({ email = "", password = "" }) => {
          await signIn(email.trim(), password);
          forgetAddress();
        }}
        renderError={(error) =>
          error.status === 401 && <ErrorMessage error={{ code: error.code, message: words.signIn.wrong }} own />
        }
      >
        <Email value={keptAddress()} />
        <Password name="password" label={t().session.password} autocomplete="current-password" required />
      </Form>
      <p>
        <a href="/forgot">{words.signIn.forgot}</a>
      </p>
      <p class="second-way">
        {words.signIn.isNew}{" "}
        <a class="button quiet" href="/sign-up">
          {words.signIn.signUp}
        </a>
      </p>
    </Entrance>
  );
}

export function SignUp() {
  const words = t().auth;
  const sentTo = useSignal("");
  const typed = useRef("");
  const token = useRef(address.peek().searchParams.get("invitation") ?? "");
  // Remove the token from the URL, so that it does not appear in the browser history or in screenshots.
  useEffect(() => {
    if (token.current) replaceAddress(location.pathname);
  }, []);
  const offer = useOffer(token.current);
  if (sentTo.value) return <Sent email={sentTo.value} other={() => (sentTo.value = "")} />;
  return (
    <Entrance title={words.signUp.title}>
      <Loaded read={offer}>
        {(data) =>
          !canSignUp(data) ? (
            <Refused offer={data} />
          ) : data.invitation ? (
            <InvitedForm invitation={data.invitation} token={token.current} />
          ) : (
            <SignUpForm
              email={typed.current}
              sent={(email) => {
                typed.current = email;
                keepAddress(email);
                sentTo.value = email;
              }}
            />
          )
        }
      </Loaded>
      <p>
        {words.signUp.known} <a href="/sign-in">{words.signIn.title}</a>
      </p>
    </Entrance>
  );
}

/** @param {{email: string, sent: (email: string) => void}} props */
function SignUpForm({ email, sent }) {
  useFirstField();
  return (
    <Form
      guard={false}
      submit={t().auth.signUp.submit}
      send={async (values) => {
        const typed = (values.email ?? "").trim();
        await call("POST /auth/sign-up", { body: { email: typed, password: values.password ?? "" } });
        sent(typed);
      }}
    >
      <Email value={email} />
      <NewPassword label={t().session.password} />
    </Form>
  );
}

/**
 * The form for an invited address, which is already confirmed. The new user is signed in.
 * @param {{invitation: import("../wire").Invitation, token: string}} props
 */
function InvitedForm({ invitation, token }) {
  const { email } = invitation;
  return (
    <Form
      guard={false}
      submit={t().auth.signUp.submit}
      send={async ({ password = "" }) => {
        const isHere = rememberPage();
        await call("POST /auth/sign-up", { body: { email, password, invitation: token } });
        await signIn(email, password);
        if (isHere()) go("/");
      }}
    >
      <InvitedUntil invitation={invitation} />
      <Email value={email} readOnly />
      <NewPassword label={t().session.password} />
    </Form>
  );
}

/** @param {{email: string, other: () => void}} props shown after a sign-up, even if the address is registered */
function Sent({ email, other }) {
  const words = t().auth.signUp;
  return (
    <Entrance key="sent" title={words.sent} focus>
      <p>{words.sentTo(email)}</p>
      <SendAgain email={email} />
      <p>
        {words.wrongAddress}{" "}
        <button type="button" class="link" onClick={other}>
          {words.title}
        </button>
      </p>
      <p>
        {words.meanwhile} <a href="/sign-in">{t().auth.signIn.title}</a>
      </p>
    </Entrance>
  );
}

/**
 * The target page of a link in an email. It immediately removes the token from the address bar, to keep the token out
 * of the history and screenshots. The user must press a button, because mail scanners open links.
 * @param {{
 *   words: {title: string, explain: string, submit: string, done: string, stale: string},
 *   use: (token: string, values: Record<string, string>) => Promise<unknown>,
 *   stale: Children,
 *   done: Children,
 *   children?: Children,
 * }} props `use`: sends the token; `stale`: shown if the token is no longer valid; `done`: shown after success;
 *   `children`: form fields
 */
export function EmailLinkPage({ words, use, stale, done, children }) {
  const token = useRef(address.peek().searchParams.get("token") ?? "");
  const state = useSignal(/** @type {"open" | "stale" | "done"} */ (token.current ? "open" : "stale"));
  useEffect(() => replaceAddress(location.pathname), []);
  if (state.value === "done") {
    return (
      <Entrance key="done" title={words.done} focus>
        {done}
      </Entrance>
    );
  }
  return (
    <Entrance title={words.title}>
      {state.value === "stale" ? (
        <>
          <Note kind="watch">{words.stale}</Note>
          {stale}
        </>
      ) : (
        <Form
          guard={false}
          submit={words.submit}
          send={async (values) => {
            try {
              await use(token.current, values);
              state.value = "done";
            } catch (error) {
              if (!aboutToken(error)) throw error;
              state.value = "stale";
            }
          }}
        >
          <p>{words.explain}</p>
          {children}
        </Form>
      )}
    </Entrance>
  );
}

/** @param {unknown} error @returns {boolean} true if the link's token is not valid */
const aboutToken = (error) => error instanceof ApiError && error.issues.some(({ path }) => path === "token");

/** @param {{to: string, children: string}} props */
export const NextLink = ({ to, children }) => (
  <p class="actions">
    <a class="button" href={to}>
      {children}
    </a>
  </p>
);

export function Confirm() {
  const words = t().auth.confirm;
  return (
    <EmailLinkPage
      words={words}
      use={(token) => call("POST /auth/confirm", { body: { token } })}
      stale={
        <>
          <Form
            guard={false}
            submit={words.fresh}
            send={async ({ email = "" }) => {
              const isHere = rememberPage();
              await call("POST /auth/confirm/resend", { body: { email: email.trim() } });
              if (isHere()) go("/sign-in");
            }}
          >
            <Email value={user.value?.email ?? ""} />
          </Form>
          <p>
            <a href="/sign-in">{t().auth.signIn.title}</a>
          </p>
        </>
      }
      done={<NextLink to={user.value ? "/" : "/sign-in"}>{words.goOn}</NextLink>}
    />
  );
}

export function Forgot() {
  const words = t().auth.forgot;
  const sentTo = useSignal("");
  useFirstField();
  return (
    <Entrance key={sentTo.value} title={sentTo.value ? words.sent : words.title} focus={sentTo.value !== ""}>
      {sentTo.value ? (
        <p>{words.sentTo(sentTo.value)}</p>
      ) : (
        <Form
          guard={false}
          submit={words.submit}
          send={async ({ email = "" }) => {
            await call("POST /auth/password-reset", { body: { email: email.trim() } });
            sentTo.value = email.trim();
          }}
        >
          <p>{words.explain}</p>
          <Email value={user.value?.email ?? ""} />
        </Form>
      )}
      <p>
        <a href="/sign-in">{words.back}</a>
      </p>
    </Entrance>
  );
}

export const Reset = () => (
  <NewPasswordPage words={t().auth.reset} send={(body) => call("POST /auth/password-reset/confirm", { body })} />
);

/**
 * The target page of a link for setting a new password. A new password ends all sessions.
 * @param {{
 *   words: Parameters<typeof EmailLinkPage>[0]["words"] & {fresh: string, doneText: string},
 *   send: (body: {token: string, password: string}) => Promise<unknown>,
 * }} props
 */
export function NewPasswordPage({ words, send }) {
  return (
    <EmailLinkPage
      words={words}
      use={async (token, { password = "" }) => {
        await send({ token, password });
        end();
      }}
      stale={
        <p>
          <a href="/forgot">{words.fresh}</a>
        </p>
      }
      done={
        <>
          <p>{words.doneText}</p>
          <NextLink to="/sign-in">{t().auth.signIn.title}</NextLink>
        </>
      }
    >
      <NewPassword label={t().auth.newPassword} />
    </EmailLinkPage>
  );
}

export function Missing() {
  const words = t().auth.missing;
  return (
    <Page title={words.title}>
      <p>{words.text}</p>
      <p>
        <a href="/">{words.home}</a>
      </p>
    </Page>
  );
}
