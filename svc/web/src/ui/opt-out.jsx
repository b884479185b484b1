/**
 * The URL of the page on which a site's visitors turn counting off, and a text about it for the site's privacy policy.
 */

import { useId } from "preact/hooks";

import { t } from "../words.js";
import { Help } from "./help.jsx";
import { Copy } from "./parts.jsx";

/** @param {{site: import("../wire").Site}} props a site that offers the page */
export function OptOut({ site }) {
  const words = t().sites.optOut;
  const id = useId();
  const address = `https://${site.host}${site.path}/off`;
  const text = words.privacyText(address);
  return (
    <section class="opt-out" aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`}>{words.title}</h3>
      <p>
        {words.explain} <Help to="privacy" />
      </p>
      <p class="actions">
        <a id={`${id}-address`} href={address} target="_blank" rel="noopener">
          {address}
          <span class="unseen"> ({t().common.newTab})</span>
        </a>
        <Copy text={address} label={words.copyAddress} />
      </p>
      <details>
        <summary>{words.privacy}</summary>
        <div class="code">
          <pre id={`${id}-text`}>{text}</pre>
          <Copy text={text} shownIn={`${id}-text`} label={words.copyText} />
        </div>
      </details>
    </section>
  );
}
