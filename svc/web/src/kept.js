/** Keeps the previous data on the screen while new data is loading. */

import { useRef } from "preact/hooks";

/**
 * @template T
 * @param {import("./resource.js").Read<T>} read whose parameters change, such as the period or the search text
 * @returns {import("./resource.js").Read<T>} the same read. Until the new data has loaded or failed, it contains the
 *   previous data
 */
export function useKept(read) {
  const last = useRef(read.data);
  if (read.data !== undefined) last.current = read.data;
  return read.loading ? { ...read, data: last.current } : read;
}
