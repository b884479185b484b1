/** The API reference. Its component is loaded together with the OpenAPI document that it shows. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, send } from "../http.js";
import { Loaded, Page } from "../ui/parts.jsx";
import { t } from "../words.js";

/** @typedef {{Operations: typeof import("../ui/operations.jsx").Operations, contract: any}} Found */

const state = signal(/** @type {{data?: Found, error?: ApiError}} */ ({}));

/** Load the component and the document, once. */
async function read() {
  if (state.peek().data) return;
  try {
    const [{ Operations }, contract] = await Promise.all([
      import("../ui/operations.jsx"),
      send("GET", "/openapi.json").then((response) => response.json()),
    ]);
    state.value = { data: { Operations, contract } };
  } catch (error) {
    state.value = { error: error instanceof ApiError ? error : new ApiError("offline") };
  }
}

export function Reference() {
  const words = t().reference;
  useEffect(() => void read(), []);
  const { data, error } = state.value;
  return (
    <Page title={words.title}>
      <Loaded read={{ data, error, loading: !data && !error, again: read, put: () => {} }} rows={8}>
        {({ Operations, contract }) => <Operations contract={contract} />}
      </Loaded>
    </Page>
  );
}
