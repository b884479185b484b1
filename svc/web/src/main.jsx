/**
 * The web application: a thin client of /v1 and /auth.
 *
 * To add a page:
 *   1. Add its path to ../pages.json, which the service also reads.
 *   2. Export a component from pages/NAME.jsx that returns `<Page title=…>…</Page>` (ui/parts.jsx).
 *   3. Map the path to the component in PAGES below, with `later` and pages/rest.jsx, with `laterForLinks` and
 *      pages/link-pages.jsx, or directly if it is a report. The component gets the path parameters as properties.
 *   4. Add its texts to words/en/GROUP.js and words/de/GROUP.js, and read them as `t().GROUP` while rendering. List a
 *      group in words/en.js if the first load needs it, otherwise in words/en-rest.js or
 *      words/en-links.js.
 *   5. If the page needs a new style, add it to styles/GROUP.css, and import that file in styles/app.css.
 *
 * Reading:          const read = useResource("GET /v1/sites/{site_id}", { site_id: id }, { pace });   resource.js
 *                   <Loaded read={read}>{({ site }) => …}</Loaded>       skeleton, error or content   ui/parts.jsx
 * Writing:          <Form submit={…} send={async (values, key) => {                                   ui/form.jsx
 *                     const isHere = rememberPage();                                                  router.js
 *                     const { site } = await call("POST /v1/sites", { body: {…}, key });              api.js
 *                     changed("/v1/sites"); if (isHere()) go(`/sites/${site.id}`);
 *                   }}><Field name="host" label={…} /></Form>
 *                   name each field as in the body, so that the service's issues appear next to it
 * Search, period:   address.value.searchParams, setSearch({ q }); read while rendering                router.js
 * Shortcuts:        useKeys([{ keys: "n", says: …, does: () => go("/links/new") }])                   keys.js
 * Tables:           <DataTable label columns rows id />   two lines per row if narrow; j, k     ui/data-table.jsx
 *
 * A test limits the scripts of the first report to 42 KB, gzipped.
 */

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";

import paths from "../pages.json";
import { createFormats } from "./format.js";
import { asApiError, unreachable } from "./http.js";
import { later, laterForLinks, loadRest } from "./later.jsx";
import { LinkReport } from "./pages/link.jsx";
import { Overview } from "./pages/overview.jsx";
import { SiteReport } from "./pages/site.jsx";
import { address, go, listen, match } from "./router.js";
import { ended, last, resume, user, waiting } from "./session.js";
import { ErrorMessage, Skeleton } from "./ui/parts.jsx";
import { Shell, SignInAgain } from "./ui/shell.jsx";
import { holdsSomething } from "./unsent.js";
import { loadWords } from "./words.js";

/** @type {Record<string, import("preact").ComponentType<any>>} */
const PAGES = {
  "/": Overview,
  "/sign-in": later("SignIn"),
  "/sign-up": later("SignUp"),
  "/confirm": later("Confirm"),
  "/forgot": later("Forgot"),
  "/reset": later("Reset"),
  "/email": later("ConfirmNewEmail"),
  "/email/revert": later("RevertEmail"),
  "/accounts": later("Accounts"),
  "/accounts/connect": later("Connect"),
  "/accounts/:id": later("Account"),
  "/sites": later("Sites"),
  "/sites/new": later("NewSite"),
  "/sites/:id": SiteReport,
  "/sites/:id/settings": later("SiteSettings"),
  "/links": laterForLinks("Links"),
  "/links/new": laterForLinks("NewLink"),
  "/links/import": laterForLinks("ImportLinks"),
  "/links/:id": LinkReport,
  "/links/:id/edit": laterForLinks("EditLink"),
  "/tags/:id": laterForLinks("TagReport"),
  "/keys": later("Keys"),
  "/events": later("Events"),
  "/profile": later("Profile"),
  "/reference": later("Reference"),
};
const Missing = later("Missing");

/** The application loads the code of the other pages this long after it has shown the first page. */
const REST_AFTER_MS = 3_000;

/** Pages for signed-out users, which do not check for a session. */
const SIGNED_OUT_PAGES = ["/sign-in", "/sign-up", "/confirm", "/forgot", "/reset", "/email", "/email/revert"];

/** @param {string} path */
function pageAt(path) {
  for (const { path: pattern, public: open } of paths) {
    const parts = match(pattern, path);
    if (parts) return { pattern, open, parts, Shown: PAGES[pattern] ?? Missing };
  }
  return { pattern: "", open: true, parts: {}, Shown: Missing };
}

/** @param {string} pattern of a page @returns {boolean} true if the page needs a session check that has not ended */
const needsCheck = (pattern) => user.value === undefined && !SIGNED_OUT_PAGES.includes(pattern);

/** The error with which the session check failed. */
const resumeError = signal(/** @type {import("./http.js").ApiError | null} */ (null));

/** The session check that is running. @type {Promise<void> | null} */
let checking = null;
const resumeSession = () => (checking ??= checkSession().finally(() => (checking = null)));

async function checkSession() {
  resumeError.value = null;
  try {
    await resume();
  } catch (error) {
    resumeError.value = asApiError(error);
    // When offline, the effect below retries after the service is reachable again.
    if (resumeError.value.code === "offline") return;
    setTimeout(resumeSession, 1_000 * (resumeError.value.retry_after_s ?? 5));
  }
}

effect(() => {
  if (unreachable.value === null && resumeError.peek()?.code === "offline") resumeSession();
});

function App() {
  const { pathname, search } = address.value;
  const { pattern, open, parts, Shown } = pageAt(pathname);
  const who = user.value;
  const unknown = needsCheck(pattern);
  useEffect(() => {
    if (unknown) resumeSession();
  }, [unknown]);
  useEffect(() => {
    if (who) createFormats();
  }, [Boolean(who)]);

  const signedOut = who === null && !open;
  // If the page has unsent input, waiting writes or a value that is shown only once, keep the page on the screen until
  // the user has signed in again.
  const keepsPage = signedOut && ended.value === "expired" && (holdsSomething() || waiting.value > 0);
  useEffect(() => {
    if (!signedOut || keepsPage) return;
    const next = ended.peek() === "here" || pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
    go(`/sign-in${next}`, { replace: true });
  }, [signedOut, keepsPage, pathname]);

  const shown = open || who || keepsPage;
  return (
    <Shell signedIn={unknown ? undefined : Boolean(who || keepsPage)}>
      {shown ? <Shown key={`${pathname} ${last.value?.id}`} {...parts} /> : <Starting />}
      {keepsPage && <SignInAgain />}
    </Shell>
  );
}

const Starting = () => (
  <main id="content">
    {resumeError.value && resumeError.value.code !== "offline" ? (
      <ErrorMessage error={resumeError.value} again={resumeSession} />
    ) : (
      <Skeleton />
    )}
  </main>
);

listen((path) => pageAt(path).pattern !== "");
const root = document.getElementById("app");
// Send the request before the first frame is drawn, because drawing takes as long as the response.
if (needsCheck(pageAt(address.peek().pathname).pattern)) resumeSession();
if (root) loadWords().finally(() => render(<App />, root));
addEventListener("load", () => setTimeout(loadRest, REST_AFTER_MS));
