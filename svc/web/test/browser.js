/** What the modules ask of a browser when they are loaded, as little as there can be; nothing of it is drawn. */

/** Must come before the modules are loaded: `await import(…)` them after it. */
export function inBrowser() {
  const target = new EventTarget();
  const globals = {
    // Node's own would keep the process alive.
    BroadcastChannel: class {
      postMessage() {}
    },
    addEventListener: target.addEventListener.bind(target),
    document: Object.assign(new EventTarget(), { documentElement: { dataset: {} } }),
    location: new URL("http://svc.test/"),
    window: globalThis,
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  speak(["en-US"]);
}

/** @param {string[]} languages that the browser's user reads */
export function speak(languages) {
  Object.defineProperty(globalThis, "navigator", { value: { languages }, configurable: true });
}
