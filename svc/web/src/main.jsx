/**
 * The web application: a thin client of /v1 and /auth.
 *
 * To add a page:
 *   1. its path stands in ../pages.json, which the service reads as well;
 *   2. pages/NAME.jsx exports a function that returns `<Page title=…>…</Page>` (ui/parts.jsx);
 *   3. a line of PAGES below leads from the path to it (by `later` and pages/rest.jsx, unless it is a report): it
 *      gets the parts of the path as its properties;
 *   4. its texts are in words/en/GROUP.js and words/de/GROUP.js, read as `t().GROUP` inside the component; those
 *      that no page of the first load needs are named in words/en-rest.js in place of words/en.js;
 *   5. its styles, where the shared ones do not do, in styles/GROUP.css, which styles/app.css imports.
 *
 * What it reads:    const read = useResource("GET /v1/sites/{site_id}", { site_id: id }, { pace });   resource.js
 *                   <Loaded read={read}>{({ site }) => …}</Loaded>        grey lines, trouble, content  ui/parts.jsx
 * What it writes:   <Form submit={…} send={async (values, key) => {                                   ui/form.jsx
 *                     const { site } = await call("POST /v1/sites", { body: {…}, key });              api.js
 *                     changed("/v1/sites"); go(`/sites/${site.id}`);
 *                   }}><Field name="host" label={…} /></Form>
 *                   field names are the body's: the service's issues find their fields by them
 * Search, period:   address.value.searchParams, setSearch({ q }); read inside the component           router.js
 * Shortcuts:        useKeys([{ keys: "n", says: …, does: () => go("/links/new") }])                   keys.js
 * Rows with j, k:   <Rows label columns rows id />                                                    ui/list.jsx
 *
 * The budget of the first report is 40 KB of gzipped script (a test holds it).
 */

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";

import paths from "../pages.json";
import { asApiError, unreachable } from "./http.js";
import { later, loadRest } from "./later.jsx";
import { LinkReport } from "./pages/link.jsx";
import { Overview } from "./pages/overview.jsx";
import { SiteReport } from "./pages/site.jsx";
import { address, go, listen, match } from "./router.js";
import { ended, last, resume, user, waiting } from "./session.js";
import { Skeleton, Trouble } from "./ui/parts.jsx";
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
  "/accounts": later("Accounts"),
  "/accounts/connect": later("Connect"),
  "/accounts/:id": later("Account"),
  "/sites": later("Sites"),
  "/sites/new": later("NewSite"),
  "/sites/:id": SiteReport,
  "/sites/:id/settings": later("SiteSettings"),
  "/links": later("Links"),
  "/links/new": later("NewLink"),
  "/links/import": later("ImportLinks"),
  "/links/:id": LinkReport,
  "/links/:id/edit": later("EditLink"),
  "/keys": later("Keys"),
  "/events": later("Events"),
  "/profile": later("Profile"),
  "/reference": later("Reference"),
};
const Missing = later("Missing");

/** The code of the other pages comes when the first one has been shown. */
const REST_AFTER_MS = 1_000;

/** Pages on which nobody is signed in, or need be: whether there is a session is not asked there. */
const DOOR = ["/sign-in", "/sign-up", "/confirm", "/forgot", "/reset"];

/** @param {string} path */
function pageAt(path) {
  for (const { path: pattern, public: open } of paths) {
    const parts = match(pattern, path);
    if (parts) return { pattern, open, parts, Shown: PAGES[pattern] ?? Missing };
  }
  return { pattern: "", open: true, parts: {}, Shown: Missing };
}

/** Why it is not known yet whether somebody is signed in. */
const held = signal(/** @type {import("./http.js").ApiError | null} */ (null));

async function lookWhoIsThere() {
  held.value = null;
  try {
    await resume();
  } catch (error) {
    held.value = asApiError(error);
    // What was not reached is tried as soon as it answers again.
    if (held.value.code === "offline") return;
    setTimeout(lookWhoIsThere, 1_000 * (held.value.retry_after_s ?? 5));
  }
}

effect(() => {
  if (unreachable.value === null && held.peek()?.code === "offline") lookWhoIsThere();
});

function App() {
  const { pathname, search } = address.value;
  const { pattern, open, parts, Shown } = pageAt(pathname);
  const who = user.value;
  const unknown = who === undefined && !DOOR.includes(pattern);
  useEffect(() => {
    if (unknown) lookWhoIsThere();
  }, [unknown]);

  const signedOut = who === null && !open;
  // What somebody has typed, or sent, or sees this once, stays on the screen until they have signed in again.
  const goesOn = signedOut && ended.value === "expired" && (holdsSomething() || waiting.value > 0);
  useEffect(() => {
    if (!signedOut || goesOn) return;
    const next = ended.peek() === "here" || pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
    go(`/sign-in${next}`, { replace: true });
  }, [signedOut, goesOn, pathname]);

  const shown = open || who || goesOn;
  return (
    <Shell signedIn={Boolean(who || goesOn)}>
      {shown ? <Shown key={`${pathname} ${last.value?.id}`} {...parts} /> : <Starting />}
      {goesOn && <SignInAgain />}
    </Shell>
  );
}

const Starting = () => (
  <main id="content">
    {held.value && held.value.code !== "offline" ? <Trouble error={held.value} again={lookWhoIsThere} /> : <Skeleton />}
  </main>
);

listen((path) => pageAt(path).pattern !== "");
const root = document.getElementById("app");
if (root) loadWords().finally(() => render(<App />, root));
addEventListener("load", () => setTimeout(loadRest, REST_AFTER_MS));
