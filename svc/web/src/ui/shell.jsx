/** The frame of every page: navigation, connection status, shortcuts, and the dialog to sign in again. */

import { useEffect, useRef } from "preact/hooks";

import { span } from "../format.js";
import { retryNow, unreachable } from "../http.js";
import { asPrinted, inScope, listed, searching, useKeys } from "../keys.js";
import { later } from "../later.jsx";
import { logo, product } from "../operator.js";
import { address, leaving, visit } from "../router.js";
import { giveUp, last, signIn } from "../session.js";
import { shortcuts, theme } from "../settings.js";
import { shownOnce } from "../unsent.js";
import { t } from "../words.js";
import { Dialog } from "./dialog.jsx";
import { Form, Password } from "./form.jsx";
import { KeyHint, Mark, useCountdown } from "./parts.jsx";
import { SignOut } from "./sign-out.jsx";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * The navigation. On narrow screens, `rare` items are in the "More" menu.
 * @type {{path: string, name: "overview" | "accounts" | "sites" | "links" | "keys" | "reference", rare?: boolean}[]}
 */
const PLACES = [
  { path: "/", name: "overview" },
  { path: "/accounts", name: "accounts" },
  { path: "/sites", name: "sites" },
  { path: "/links", name: "links" },
  { path: "/keys", name: "keys", rare: true },
  { path: "/reference", name: "reference", rare: true },
];

/** @type {[key: string, path: string, name: keyof ReturnType<typeof t>["common"]["nav"]][]} */
const GO = [
  ["o", "/", "overview"],
  ["a", "/accounts", "accounts"],
  ["s", "/sites", "sites"],
  ["l", "/links", "links"],
  ["k", "/keys", "keys"],
  ["h", "/events", "events"],
  ["p", "/profile", "profile"],
  ["r", "/reference", "reference"],
];

const Palette = later("Palette", { part: true });
const stopSearching = () => void (searching.value = false);

/** @param {{signedIn: boolean | undefined, children: Children}} props `signedIn`: undefined if not known yet */
export function Shell({ signedIn, children }) {
  const words = t().common;
  return (
    <>
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <header class="top">
        <div class="bar">
          <a class="brand" href="/">
            <Logo />
            {product}
          </a>
          {signedIn ? <Navigation /> : signedIn === false && <Visitor />}
        </div>
      </header>
      <Connection />
      {children}
      {signedIn && <GlobalKeys />}
      {listed.value && <ShortcutList />}
      {signedIn && searching.value && (
        <Dialog title={words.goAnywhere} close={stopSearching}>
          <Palette close={stopSearching} />
        </Dialog>
      )}
      {leaving.value && <Leaving go={leaving.value.go} />}
    </>
  );
}

/** The operator's logo, or the built-in logo, which shows five tally marks. */
const Logo = () => (logo ? <img class="logo" src={logo} alt="" /> : <span class="tally" aria-hidden="true" />);

/** @param {string} path @returns {"page" | "true" | undefined} "page": the current page; "true": a parent of it */
function current(path) {
  const here = address.value.pathname;
  if (here === path) return "page";
  if (path === "/links" && here.startsWith("/tags/")) return "true";
  return path !== "/" && here.startsWith(`${path}/`) ? "true" : undefined;
}

function Visitor() {
  const { nav } = t().common;
  return (
    <nav class="places" aria-label={nav.label}>
      <a class="tab" href="/reference" aria-current={current("/reference")}>
        {nav.reference}
      </a>
      <a class="tab" href="/help" hreflang="en">
        {nav.help}
      </a>
      <a class="tab" href="/sign-in" aria-current={current("/sign-in")}>
        {nav.signIn}
      </a>
    </nav>
  );
}

function Navigation() {
  const words = t().common;
  const { nav } = words;
  const more = useRef(/** @type {HTMLDivElement | null} */ (null));
  const here = address.value.href;
  useEffect(() => {
    more.current?.hidePopover();
  }, [here]);
  return (
    <nav class="places" aria-label={nav.label}>
      {PLACES.map(({ path, name, rare }) => (
        <a key={path} class={rare ? "tab rare" : "tab"} href={path} aria-current={current(path)}>
          {nav[name]}
        </a>
      ))}
      <button type="button" class="tab menu" popovertarget="more">
        <span class="wide">{last.value?.email}</span>
        <span class="slim">{nav.more}</span>
      </button>
      <div id="more" popover="auto" ref={more}>
        <p class="small wide-cut">{last.value?.email}</p>
        {PLACES.filter(({ rare }) => rare).map(({ path, name }) => (
          <a key={path} class="slim" href={path} aria-current={current(path)}>
            {nav[name]}
          </a>
        ))}
        <button
          type="button"
          class="link"
          onClick={() => {
            more.current?.hidePopover();
            searching.value = true;
          }}
        >
          {words.goAnywhere} <KeyHint keys={asPrinted("Mod+k")} />
        </button>
        <a href="/events" aria-current={current("/events")}>
          {nav.events}
        </a>
        <a href="/profile" aria-current={current("/profile")}>
          {nav.profile}
        </a>
        <a href="/help" hreflang="en">
          {nav.helpMenu}
        </a>
        <ThemeChoice />
        <SignOut />
      </div>
    </nav>
  );
}

function ThemeChoice() {
  const words = t().common.theme;
  return (
    <label class="theme">
      <span>{words.label}</span>
      <select value={theme.value} onChange={(event) => (theme.value = asTheme(event.currentTarget.value))}>
        <option value="system">{words.system}</option>
        <option value="light">{words.light}</option>
        <option value="dark">{words.dark}</option>
      </select>
    </label>
  );
}

/** @param {string} value */
const asTheme = (value) => (value === "light" || value === "dark" ? value : "system");

/** The line that says that the service is unreachable. The page below keeps its data. */
function Connection() {
  const words = t().common;
  const at_ms = unreachable.value;
  const left_s = useCountdown(at_ms);
  return (
    <div class="connection">
      <p role="status">{at_ms !== null && <Mark kind="watch">{words.offline}</Mark>}</p>
      {at_ms !== null && (
        <p>
          {left_s > 0 ? words.offlineAgainIn(span(left_s)) : words.offlineAgain}{" "}
          <button type="button" class="quiet" onClick={retryNow}>
            {words.again}
          </button>
        </p>
      )}
    </div>
  );
}

/** The dialog over a page whose session has expired. After signing in, the user continues on this page. */
export function SignInAgain() {
  const words = t().session;
  const email = last.value?.email ?? "";
  return (
    <Dialog title={words.again.title}>
      <p>{words.again.explain}</p>
      <Form
        guard={false}
        submit={words.again.submit}
        send={async ({ password = "" }) => {
          await signIn(email, password);
        }}
        more={
          <button type="button" class="quiet" onClick={giveUp}>
            {words.again.giveUp}
          </button>
        }
      >
        <p class="field">
          <label for="again-email">{words.email}</label>
          <input id="again-email" type="email" value={email} readOnly autocomplete="username" />
        </p>
        <Password name="password" label={words.password} autocomplete="current-password" />
      </Form>
    </Dialog>
  );
}

/** @param {{go: () => void}} props */
function Leaving({ go }) {
  const words = t().common.leaving;
  const stay = () => (leaving.value = null);
  return (
    <Dialog title={words.title} close={stay}>
      <p>{shownOnce.value > 0 ? words.once : words.text}</p>
      <p class="actions">
        <button type="button" onClick={stay}>
          {words.stay}
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            stay();
            go();
          }}
        >
          {words.leave}
        </button>
      </p>
    </Dialog>
  );
}

function GlobalKeys() {
  const { nav, shortcuts: words } = t().common;
  /** @type {import("../keys.js").Shortcut[]} */
  const keys = [
    { keys: "Mod+k", says: words.anywhere, does: () => (searching.value = true) },
    { keys: "?", says: words.list, does: () => (listed.value = true) },
    ...GO.map(([key, path, name]) => ({ keys: `g ${key}`, says: words.goTo(nav[name]), does: () => visit(path) })),
  ];
  useKeys(keys, "everywhere");
  return null;
}

function ShortcutList() {
  const words = t().common.shortcuts;
  const close = () => (listed.value = false);
  const here = [...new Map(inScope("page").map((one) => [one.keys, one])).values()];
  return (
    <Dialog title={words.title} close={close}>
      {shortcuts.value === "off" && <p>{words.off}</p>}
      {here.length > 0 && <Keys title={words.here} list={here} />}
      <Keys title={words.everywhere} list={inScope("everywhere")} />
      <p class="actions">
        <button type="button" onClick={close}>
          {t().common.close}
        </button>
      </p>
    </Dialog>
  );
}

/** @param {{title: string, list: import("../keys.js").Shortcut[]}} props */
const Keys = ({ title, list }) => (
  <>
    <h3>{title}</h3>
    <dl class="keys">
      {list.map(({ keys, says }) => (
        <div key={keys}>
          <dt>
            {keys.split(" ").map((key, i) => (
              <>
                {i > 0 && ` ${t().common.shortcuts.then} `}
                <kbd>{asPrinted(key)}</kbd>
              </>
            ))}
          </dt>
          <dd>{says}</dd>
        </div>
      ))}
    </dl>
  </>
);
