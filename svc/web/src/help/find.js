/** Finds the sections of the documentation that contain all searched words. Pure functions. */

/**
 * The search index, as `python -m svc.web.help` writes it.
 * @typedef {{
 *   pages: [url: string, title: string][],
 *   sections: [page: number, anchor: string, heading: string, text: string][],
 * }} Index
 * @typedef {{text: string, marked: boolean}} Part a part of an excerpt; `marked`: true for a searched word
 * @typedef {{href: string, title: string, page: string, excerpt: Part[]}} Found `page`: the title of the page, "" if
 *   `title` is the page's title
 */

// The weight of a searched word in a heading, in the page's title and in the text.
const IN_HEADING = 8;
const IN_TITLE = 4;
const IN_TEXT = 1;
/** Number of characters in an excerpt before the first searched word, and in total. */
const BEFORE = 40;
const LENGTH = 160;

/** @param {string} typed @returns {string[]} the searched words in lower case, each once */
export const wordsOf = (typed) => [...new Set(typed.toLowerCase().split(/\s+/).filter(Boolean))];

/**
 * @param {Index} index
 * @param {string[]} words in lower case
 * @returns {Found[]} the sections that contain all words, best first; none if `words` is empty
 */
export function find(index, words) {
  if (words.length === 0) return [];
  const phrase = words.join(" ");
  const found = index.sections.map(([number, anchor, heading, text]) => {
    const [url = "", title = ""] = index.pages[number] ?? [];
    const places = [
      { in: heading.toLowerCase(), counts: IN_HEADING },
      { in: title.toLowerCase(), counts: anchor ? IN_TITLE : IN_HEADING },
      { in: text.toLowerCase(), counts: IN_TEXT },
    ];
    const score = [...words, phrase].map((word) =>
      places.reduce(
        (sum, place) => sum + (place.in.includes(word) ? place.counts * (begins(place.in, word) + 1) : 0),
        0,
      ),
    );
    return {
      // All words must occur in the section, but not necessarily next to each other.
      score: score.slice(0, -1).every((each) => each > 0) ? score.reduce((sum, each) => sum + each, 0) : 0,
      href: anchor ? `${url}#${anchor}` : url,
      title: heading || title,
      page: heading ? title : "",
      text,
    };
  });
  return found
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ href, title, page, text }) => ({ href, title, page, excerpt: excerpt(text, words) }));
}

/** @param {string} text @param {string} word @returns {0 | 1} 1 if the word is at the start of a word of the text */
const begins = (text, word) => (` ${text}`.includes(` ${word}`) ? 1 : 0);

/**
 * @param {string} text
 * @param {string[]} words in lower case
 * @returns {Part[]} the text around the first of the words
 */
export function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0));
  const from = first > BEFORE && first < Infinity ? lower.indexOf(" ", first - BEFORE) + 1 : 0;
  const space = text.lastIndexOf(" ", from + LENGTH);
  const end = text.length <= from + LENGTH ? text.length : space > from ? space : from + LENGTH;
  /** @type {Part[]} */
  const parts = [{ text: from > 0 ? "… " : "", marked: false }];
  let at = from;
  while (at < end) {
    const next = words
      .map((word) => ({ word, at: lower.indexOf(word, at) }))
      .filter((one) => one.at >= 0 && one.at < end)
      .toSorted((a, b) => a.at - b.at || b.word.length - a.word.length)[0];
    const stop = next ? next.at : end;
    parts.push({ text: text.slice(at, stop), marked: false });
    if (next) parts.push({ text: text.slice(stop, stop + next.word.length), marked: true });
    at = stop + (next?.word.length ?? 0);
  }
  parts.push({ text: at < text.length ? " …" : "", marked: false });
  return parts.filter((part) => part.text !== "");
}
