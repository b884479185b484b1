/** The period in which a short link redirects to its targets. Clicks outside of the period are counted separately. */

import vocabulary from "./vocabulary.json" with { type: "json" };

/** @typedef {keyof import("./vocabulary.json")["outside_reasons"]} Outside */

/**
 * @param {{starts_at?: number, ends_at?: number}} period of a link; epoch ms
 * @param {number} now epoch ms
 * @returns {Outside | ""} "" within the period
 */
export function outsideOf({ starts_at, ends_at }, now) {
  if (starts_at !== undefined && now < starts_at) return "early";
  return ends_at !== undefined && now >= ends_at ? "ended" : "";
}

const OUTSIDE = new Set(Object.keys(vocabulary.outside_reasons));

/** @param {string} reason of an event @returns {boolean} true for a person's click outside of the link's period */
export const isOutside = (reason) => reason !== "" && OUTSIDE.has(reason);
