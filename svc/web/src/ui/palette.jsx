/** The search dialog (command palette) for pages, sites and links. */

import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";

import { useKept } from "../kept.js";
import { chosenBy, fitting } from "../palette.js";
import { useResource } from "../resource.js";
import { visit } from "../router.js";
import { bare } from "../short-url.js";
import { targetsOf } from "../split.js";
import { t } from "../words.js";
import { ErrorMessage } from "./parts.jsx";

/** @typedef {import("../palette.js").Offer} Offer */

// The maximum number of sites and of links shown.
const FEW = 6;
const SEARCH_AFTER_MS = 150;
// The longest search text that the service accepts.
const LONGEST_Q = 50;

// Preact's types allow this role only for inputs with a native list.
const COMBOBOX = /** @type {any} */ ({ type: "search", role: "combobox" });

/** @returns {Offer[]} */
function pages() {
  const { common, accounts, site, link } = t();
  const { nav } = common;
  return [
    { href: "/", name: nav.overview },
    { href: "/accounts", name: nav.accounts },
    { href: "/sites", name: nav.sites },
    { href: "/links", name: nav.links },
    { href: "/keys", name: nav.keys },
    { href: "/events", name: nav.events },
    { href: "/profile", name: nav.profile },
    { href: "/reference", name: nav.reference },
    { href: "/sites/new", name: site.add },
    { href: "/links/new", name: link.add },
    { href: "/links/import", name: link.import },
    { href: "/accounts/connect", name: accounts.connect },
  ];
}

/**
 * @param {string} q
 * @returns {{sites: Offer[], links: Offer[], busy: boolean, error: import("../http.js").ApiError | undefined}} the
 *   results from the service; none for an empty text
 */
function useFound(q) {
  const asked = q === "" ? null : { q, limit: FEW };
  const sites = useKept(useResource("GET /v1/sites", asked));
  const links = useKept(useResource("GET /v1/links", asked));
  if (!asked) return { sites: [], links: [], busy: false, error: undefined };
  return {
    sites: (sites.data?.sites ?? []).map(({ id, host }) => ({ href: `/sites/${id}`, name: host })),
    links: (links.data?.links ?? []).map((link) => ({
      href: `/links/${link.id}`,
      name: bare(link),
      about: link.title ?? targetsOf(link).join(", "),
    })),
    busy: sites.loading || links.loading,
    error: sites.error ?? links.error,
  };
}

/** @param {{close: () => void}} props rendered inside a dialog */
export function Palette({ close }) {
  const words = t().palette;
  const id = useId();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const typed = useSignal("");
  const q = useSignal("");
  const at = useSignal(0);
  const timer = useRef(0);
  /** True if the user has pressed Enter before the results for the text are known. */
  const entered = useSignal(false);
  const { sites, links, busy, error } = useFound(q.value);
  useLayoutEffect(() => {
    field.current?.focus();
    return () => clearTimeout(timer.current);
  }, []);

  const found = fitting(pages(), typed.value);
  const groups = [
    { name: words.pages, offers: found },
    { name: t().common.nav.sites, offers: sites },
    { name: t().common.nav.links, offers: links },
  ].filter(({ offers }) => offers.length > 0);
  const all = groups.flatMap(({ offers }) => offers);
  const chosen = all[Math.min(at.value, all.length - 1)];
  const waits = busy || q.value !== typed.value.trim().slice(0, LONGEST_Q);
  useEffect(() => {
    document.getElementById(`${id}-chosen`)?.scrollIntoView({ block: "nearest" });
  }, [chosen?.href]);

  /** @param {string} text */
  const type = (text) => {
    typed.value = text;
    at.value = 0;
    entered.value = false;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => (q.value = text.trim().slice(0, LONGEST_Q)), SEARCH_AFTER_MS);
  };
  /** @param {Offer | undefined} offer */
  const take = (offer) => {
    if (!offer) return;
    close();
    visit(offer.href);
  };
  useEffect(() => {
    if (entered.value && !waits) take(chosen);
  }, [waits]);
  const enter = () => {
    // The sites and links that are shown belong to an earlier text. If the user has not selected one of them with the
    // arrow keys, wait for the results for this text.
    if (waits && at.value === 0 && found.length === 0) entered.value = true;
    else take(chosen);
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      // When the user presses Esc, the browser would first only clear the field. Prevent this, so that the dialog
      // closes.
      event.preventDefault();
      return close();
    }
    const next = chosenBy(event.key, Math.min(at.value, all.length - 1), all.length);
    if (next === null && event.key !== "Enter") return;
    event.preventDefault();
    entered.value = false;
    if (next === null) enter();
    else at.value = next;
  };
  return (
    <div class="palette">
      <input
        ref={field}
        {...COMBOBOX}
        aria-label={words.label}
        aria-expanded={all.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={chosen ? `${id}-chosen` : undefined}
        autocomplete="off"
        autoCapitalize="none"
        spellcheck={false}
        placeholder={words.hint}
        value={typed.value}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={pressed}
      />
      <div id={`${id}-list`} role="listbox" aria-label={words.label} aria-busy={waits}>
        {groups.map(({ name, offers }) => (
          <div key={name} role="group" aria-label={name}>
            <p class="small" aria-hidden="true">
              {name}
            </p>
            {offers.map((offer) => (
              <div
                key={offer.href}
                role="option"
                id={offer === chosen ? `${id}-chosen` : undefined}
                aria-selected={offer === chosen}
                onClick={() => take(offer)}
              >
                {offer.name} {offer.about && <span class="small clip">{offer.about}</span>}
              </div>
            ))}
          </div>
        ))}
      </div>
      {error && <ErrorMessage error={error} />}
      <p role="status" class={all.length > 0 ? "unseen" : undefined}>
        {!waits && (all.length > 0 ? words.count(all.length) : words.none(typed.value.trim()))}
      </p>
    </div>
  );
}
