/** The title, tags and note of a link on its page. */

import { TagLinks } from "./tags.jsx";

/** @param {{link: import("../wire").Link}} props */
export const LinkFacts = ({ link: { title, tags, note } }) =>
  title || tags.length > 0 || note ? (
    <div class="link-facts">
      {title && (
        <p class="link-title" dir="auto">
          {title}
        </p>
      )}
      <TagLinks tags={tags} />
      {note && (
        <p class="link-note" dir="auto">
          {note}
        </p>
      )}
    </div>
  ) : null;
