/** The user's tags as filters of the list of links. The chosen tag is in the URL. */

import { useSignal } from "@preact/signals";

import { number } from "../format.js";
import { changed } from "../range.js";
import { useResource } from "../resource.js";
import { address } from "../router.js";
import { t } from "../words.js";

/** The number of tags that are shown before the user expands the list. */
const FEW = 12;

/** @param {{tag: string}} props the chosen tag, or "" */
export function TagFilter({ tag }) {
  const words = t().linkFields;
  const read = useResource("GET /v1/tags", {});
  const all = useSignal(false);
  const tags = [...(read.data?.tags ?? [])].sort((a, b) => b.links - a.links);
  const few = tags.filter((one, i) => all.value || i < FEW || one.tag === tag);
  // The tag in the URL may not be among the listed tags, so show it as well.
  const shown = tag === "" || few.some((one) => one.tag === tag) ? few : [{ tag, links: 0 }, ...few];
  if (shown.length === 0) return null;
  return (
    <nav class="tag-filter" aria-label={words.filter}>
      <ul class="tags">
        {shown.map(({ tag: one, links }) => (
          <li key={one}>
            {one === tag ? (
              <a class="link-tag" aria-current="true" href={changed(address.value.searchParams, { tag: undefined })}>
                <bdi>{one}</bdi> <span class="unseen">({words.removeFilter})</span>
                <span aria-hidden="true">✕</span>
              </a>
            ) : (
              <a class="link-tag" href={changed(address.value.searchParams, { tag: one })}>
                <bdi>{one}</bdi> <span class="small">{number(links)}</span>
              </a>
            )}
          </li>
        ))}
        {tag !== "" && (
          <li>
            <a href={`/tags/${encodeURIComponent(tag)}`}>{t().linkFields.tagReport}</a>
          </li>
        )}
        {tags.length > FEW && (
          <li>
            <button type="button" class="link" aria-expanded={all.value} onClick={() => (all.value = !all.value)}>
              {all.value ? words.fewerTags : words.allTags(number(tags.length))}
            </button>
          </li>
        )}
      </ul>
    </nav>
  );
}
