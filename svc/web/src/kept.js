/** What was read stays on the screen while something else is read in its place. */

import { useRef } from "preact/hooks";

/**
 * @template T
 * @param {import("./resource.js").Read<T>} read whose parts change: another period, another search
 * @returns {import("./resource.js").Read<T>} with what was read before them, until theirs is there or has failed
 */
export function useKept(read) {
  const last = useRef(read.data);
  if (read.data !== undefined) last.current = read.data;
  return read.loading ? { ...read, data: last.current } : read;
}
