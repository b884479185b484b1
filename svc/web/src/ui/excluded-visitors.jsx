/** The fields for visitors whose views a site does not count: networks, countries and autonomous systems. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { fill } from "../fill.js";
import { t } from "../words.js";
import { CountryPicker, inWords } from "./countries.jsx";
import { Field, Group } from "./form.jsx";
import { ErrorMessage } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @param {{site: import("../wire").Site | undefined}} props */
export function ExcludedVisitors({ site }) {
  const words = t().sites;
  const stored = site?.excluded_countries ?? [];
  /** The countries that the user has chosen; null if they are the stored countries, which can change elsewhere. */
  const edited = useSignal(/** @type {string[] | null} */ (null));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const countries = edited.value ?? stored;
  const chosen = countries.length > 0 ? inWords(countries, words.moreCountries) : words.noCountries;
  useLayoutEffect(() => {
    if (edited.value?.join() === stored.join()) edited.value = null;
  });
  return (
    <>
      <Field
        name="excluded_networks"
        label={words.networks}
        hint={words.networksHint}
        area
        optional={!site}
        rows={3}
        defaultValue={site?.excluded_networks.join("\n") ?? ""}
      />
      <OwnAddress />
      <Group name="excluded_countries" legend={words.countries}>
        <CountryPicker
          text={chosen}
          label={`${words.countries}: ${chosen}`}
          chosen={countries}
          choose={(codes) => {
            edited.value = codes;
            // Notify the form of the edit.
            field.current?.dispatchEvent(new Event("input", { bubbles: true }));
          }}
        />
        <input ref={field} type="hidden" name="excluded_countries" value={countries.join(" ")} />
      </Group>
      <Field
        name="excluded_asns"
        label={words.asns}
        hint={words.asnsHint}
        optional={!site}
        autocomplete="off"
        defaultValue={site?.excluded_asns.join(", ") ?? ""}
      />
    </>
  );
}

/** The button that adds the address of this browser, as the service sees it, to the networks. */
function OwnAddress() {
  const words = t().sites;
  const { busy, error, run } = useWrite();
  const note = useSignal("");
  /** @param {HTMLFormElement | null} form */
  const add = async (form) => {
    const { address, network } = await call("GET /v1/me/address", {});
    if (network === null) note.value = words.addressUnknown(address ?? "");
    else {
      const field = form?.elements.namedItem("excluded_networks");
      const lines = field instanceof HTMLTextAreaElement ? listed(field.value) : [];
      if (!lines.includes(network)) fill("excluded_networks", [...lines, network].join("\n"));
      note.value = network.includes(":") ? words.networkAdded(network) : words.addressAdded(network);
    }
  };
  return (
    <>
      <p class="actions">
        <button
          type="button"
          class="quiet"
          aria-disabled={busy}
          onClick={({ currentTarget }) => {
            const { form } = currentTarget;
            void run(() => add(form));
          }}
        >
          {words.excludeMine}
        </button>
      </p>
      <p role="status" class="hint">
        {note.value}
      </p>
      {error && <ErrorMessage error={error} />}
    </>
  );
}

/**
 * @param {string} text @returns {string[]} the entries of the text, which are separated by spaces, commas, semicolons
 *   or line breaks
 */
const listed = (text) => text.split(/[\s,;]+/).filter(Boolean);

/**
 * @param {Record<string, string>} values of the fields in `ExcludedVisitors`
 * @returns {{excluded_networks: string[], excluded_countries: string[], excluded_asns: number[]}}
 */
export function excludedVisitors({ excluded_networks = "", excluded_countries = "", excluded_asns = "" }) {
  const numbers = listed(excluded_asns).map((text) => text.replace(/^AS/i, ""));
  return {
    excluded_networks: listed(excluded_networks),
    excluded_countries: listed(excluded_countries),
    // Text that is not a number becomes null in JSON. The service rejects it with an error at the field.
    excluded_asns: numbers.map(Number),
  };
}
