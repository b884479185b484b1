// Shifts `Date` to the emulated time without changing its types and methods. This module is imported before the script.
export const settings = __SETTINGS__; // {offset_ms, max_d1_queries}; changed while the process runs

const Real = Date;

/** @this {unknown} @param {any[]} args */
function Shifted(...args) {
  const now = Real.now() + settings.offset_ms;
  if (new.target === undefined) return new Real(now).toString();
  return Reflect.construct(Real, args.length === 0 ? [now] : args, new.target);
}
Object.defineProperties(Shifted, {
  name: { value: "Date" },
  length: { value: 7 },
  prototype: { value: Real.prototype, writable: false },
  now: { value: () => Real.now() + settings.offset_ms, writable: true, configurable: true },
  parse: { value: Real.parse, writable: true, configurable: true },
  UTC: { value: Real.UTC, writable: true, configurable: true },
});
Object.defineProperty(Real.prototype, "constructor", { value: Shifted, writable: true, configurable: true });
globalThis.Date = /** @type {DateConstructor} */ (/** @type {unknown} */ (Shifted));
