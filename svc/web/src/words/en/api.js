/**
 * What the API says by a code besides its refusals: issues of a field, what a check finds, what a disconnect leaves.
 * In English its own words are shown.
 */

/**
 * @typedef {Record<string, string | undefined>} Facts
 * @typedef {{
 *   issues: Record<string, (limit: number) => string>,
 *   findings: Record<string, (facts: Facts) => [thing: string, expected: string, found: string]>,
 *   left: Record<string, (facts: Facts, why: string) => string>,
 *   whys: Record<string, (facts: Facts) => string>,
 * }} Api
 */

export default /** @type {Api} */ ({ issues: {}, findings: {}, left: {}, whys: {} });
