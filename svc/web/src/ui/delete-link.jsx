/** The confirmation before a link is deleted. */

import { call } from "../api.js";
import { changed } from "../resource.js";
import { go, rememberPage } from "../router.js";
import { bare } from "../short-url.js";
import { t } from "../words.js";
import { Confirm } from "./dialog.jsx";

/** @param {{link: import("../wire").Link, close: () => void}} props */
export function DeleteLink({ link, close }) {
  const words = t().links.confirm;
  return (
    <Confirm
      title={words.title(bare(link))}
      submit={t().link.remove}
      typed={link.short_url === null ? undefined : link.code}
      close={close}
      send={async (key) => {
        const isHere = rememberPage();
        await call("DELETE /v1/links/{link_id}", { link_id: link.id, body: {}, key });
        if (isHere()) go("/links");
        changed("/v1/links", "/v1/tags");
      }}
    >
      <p>{words.text}</p>
    </Confirm>
  );
}
