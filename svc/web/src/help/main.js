/** The script of the documentation, which applies the theme chosen in the application and runs the search. */

import { find, wordsOf } from "./find.js";

const SHOWN = 20;

/** @param {string} name @returns {string | null} a setting of the application, see settings.js */
function setting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

const theme = setting("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

/** @param {HTMLElement} search the element with the form, the status and the list of results */
function setUp(search) {
  const field = search.querySelector("input");
  const form = search.querySelector("form");
  const status = search.querySelector("[role=status]");
  const list = search.querySelector("ol");
  if (!field || !form || !status || !list) return;

  /** @type {Promise<import("./find.js").Index> | null} */
  let loading = null;
  const load = () => {
    loading ??= fetch(search.dataset.index ?? "").then((response) => {
      if (!response.ok) throw new Error(String(response.status));
      return response.json();
    });
    loading.catch(() => (loading = null));
    return loading;
  };

  const show = async () => {
    const typed = field.value.trim();
    const words = wordsOf(typed);
    try {
      const found = words.length > 0 ? find(await load(), words) : [];
      if (field.value.trim() !== typed) return;
      list.replaceChildren(...found.slice(0, SHOWN).map(item));
      status.textContent = words.length > 0 ? says(found.length, typed) : "";
    } catch {
      list.replaceChildren();
      status.textContent = "The search could not be loaded. Check your connection, then reload the page.";
    }
  };
  const links = () => [...list.querySelectorAll("a")];

  // Store the search text in the URL, so that the Back button restores the results.
  list.addEventListener("click", () => {
    const url = new URL(location.href);
    url.searchParams.set("q", field.value.trim());
    history.replaceState(null, "", url);
  });
  field.addEventListener("focus", () => void load().catch(() => {}));
  field.addEventListener("input", show);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await show();
    links()[0]?.click();
  });
  search.addEventListener("keydown", (event) => {
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && field.value !== "") {
      event.preventDefault();
      field.value = "";
      field.focus();
      void show();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const places = [field, ...links()];
    const at = places.findIndex((place) => place === document.activeElement);
    places[Math.min(Math.max(at + step, 0), places.length - 1)]?.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.altKey || event.ctrlKey || event.metaKey || setting("shortcuts") === "off") return;
    if (event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    field.focus();
  });

  search.hidden = false;
  const asked = new URL(location.href).searchParams.get("q");
  if (asked) {
    field.value = asked;
    void show();
  }
}

/** @param {number} count @param {string} typed @returns {string} */
function says(count, typed) {
  if (count === 0) return `No results for “${typed}”. The documentation is in English.`;
  if (count === 1) return "1 result";
  return count > SHOWN ? `${count} results, showing the best ${SHOWN}` : `${count} results`;
}

/** @param {import("./find.js").Found} found @returns {HTMLLIElement} */
function item({ href, title, page, excerpt }) {
  const link = Object.assign(document.createElement("a"), { href });
  link.append(Object.assign(document.createElement("strong"), { textContent: title }));
  if (page) link.append(` · ${page}`);
  const text = document.createElement("span");
  text.append(
    ...excerpt.map((part) =>
      part.marked ? Object.assign(document.createElement("mark"), { textContent: part.text }) : part.text,
    ),
  );
  link.append(text);
  const row = document.createElement("li");
  row.append(link);
  return row;
}

const search = document.querySelector("search");
if (search instanceof HTMLElement) setUp(search);
