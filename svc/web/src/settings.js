/**
 * Settings of this browser: theme, language, shortcuts. In addition to these settings, localStorage contains only the
 * address of a recent sign-up (sign-up-address.js) and the platforms of sites (platforms.js). If no language is chosen
 * in this browser, the language in the user's profile applies, which is also the language of emails.
 */

import { effect, signal } from "@preact/signals";

/**
 * @template {string} T
 * @param {string} name
 * @param {[T, ...T[]]} choices the first is the default
 * @returns {import("@preact/signals").Signal<T>}
 */
function setting(name, choices) {
  const known = (/** @type {unknown} */ found) => choices.find((choice) => choice === found) ?? choices[0];
  const chosen = signal(known(stored(name)));
  effect(() => store(name, chosen.value));
  addEventListener("storage", ({ key, newValue }) => {
    if (key === name) chosen.value = known(newValue);
  });
  return chosen;
}

// If the browser does not allow storage, settings last until the page is closed.
/** @param {string} name */
function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
function store(name, value) {
  try {
    if (stored(name) !== value) localStorage.setItem(name, value);
  } catch {
    // The browser does not allow storage.
  }
}

export const theme = setting("theme", ["system", "light", "dark"]);
/** "" means that no language is chosen in this browser; `browser` means the language that is set in the browser. */
export const language = setting("language", ["", "browser", "en", "de"]);
export const shortcuts = setting("shortcuts", ["on", "off"]);

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

/** The language of the signed-in user's profile; null: not chosen, or no user is signed in. */
export const profileLanguage = signal(/** @type {"en" | "de" | null} */ (null));

/** @returns {"browser" | "en" | "de"} the choice in this browser, otherwise the profile's language */
export const chosenLanguage = () => language.value || profileLanguage.value || "browser";

/** @returns {"en" | "de"} the chosen language, otherwise the first supported language of the browser */
export function textLanguage() {
  const chosen = chosenLanguage();
  if (chosen !== "browser") return chosen;
  const spoken = navigator.languages.map((tag) => tag.split("-")[0]);
  return spoken.find((tag) => tag === "en" || tag === "de") ?? "en";
}
