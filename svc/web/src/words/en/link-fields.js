/** The title, tags and note of a link, in forms, lists and on the link's page. */

import { plural } from "../../format.js";

const linkFields = {
  title: "Title",
  titleHint: "Shown in lists instead of the code. Visitors do not see it.",
  suggest: "Suggest a title",
  suggested: "The title of the destination was filled in.",
  noTitle: "The destination has no title, or cannot be read.",
  urlFirst: "Enter the destination first.",
  tags: "Tags",
  tagsHint: "Press Enter or type a comma after each tag.",
  removeTag: (/** @type {string} */ tag) => `Remove tag ${tag}`,
  note: "Note",
  noteHint: "Visitors do not see it.",
  code: "Code",
  filter: "Filter by tag",
  removeFilter: "remove filter",
  allTags: (/** @type {string} */ count) => `Show all ${count} tags`,
  fewerTags: "Show fewer",
  noneTagged: (/** @type {string} */ tag) => `No links have the tag “${tag}”.`,
  tagTitle: (/** @type {string} */ tag) => `Tag: ${tag}`,
  tagExplain: "Clicks on all links that currently have this tag, including clicks from before the tag was added.",
  tagReport: "Show report",
  showTagged: "Show links",
  off: "off",
  split: {
    title: "A/B test",
    explain:
      "Visitors who match no rule are divided between several destinations, instead of going to the destination above. A visitor gets the same destination all day.",
    variants: (/** @type {number} */ count) => plural(count, { one: "# variant", other: "# variants" }),
    begin: "Add A/B test",
    variant: (/** @type {string} */ letter) => `Variant ${letter}`,
    to: "goes to",
    shareOf: (/** @type {string} */ letter) => `Share of variant ${letter}`,
    percentOf: (/** @type {string} */ letter) => `Share of variant ${letter} in percent`,
    remove: (/** @type {string} */ letter) => `Remove variant ${letter}`,
    add: "Add variant",
    even: "Equal shares",
    end: "Remove A/B test",
    leads: "All other visitors are divided between these destinations:",
    leadsAll: "Visitors are divided between these destinations:",
  },
  schedule: {
    title: "Schedule",
    explain: "If you set no start and no end, the link always works.",
    always: "always",
    start: "Start",
    end: "End",
    zone: (/** @type {string} */ zone) => `Time zone: ${zone}.`,
    incomplete: "Enter a date from 2000 to 2099, and a time.",
    after: "Destination before the start and after the end",
    afterUrl: (/** @type {string} */ url) =>
      `If this is empty, visitors go to ${url}, just as with links that do not exist.`,
    afterPage: "If this is empty, visitors see the same page as with links that do not exist.",
    result: "What visitors get",
    when: (/** @type {{from: string | null, to: string | null}} */ { from, to }) =>
      from && to ? `From ${from} to ${to},` : from ? `From ${from},` : to ? `Until ${to},` : "At all times,",
    goTo: "visitors go to",
    destinations: "visitors go to the destinations above.",
    notFound: "visitors see a page that says that the link does not exist.",
    now: "(now)",
  },
  forward: {
    title: "Query parameters",
    done: "Query parameters of the short link are passed on to the destination.",
    on: "passed on",
    label: "Pass the query parameters of the short link on to the destination",
    hint: "Parameters that the destination already has keep their values. The parameters q and ref are not passed on.",
  },
};

export default linkFields;
