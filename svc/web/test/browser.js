/** The minimal browser globals that the modules need when they are imported. */

/** Define the globals. Call this first, then load the modules with `await import(…)`. */
export function inBrowser() {
  const target = new EventTarget();
  const globals = {
    // Node's own BroadcastChannel would keep the process running.
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

/** Set the languages of the browser. @param {string[]} languages */
export function speak(languages) {
  Object.defineProperty(globalThis, "navigator", { value: { languages }, configurable: true });
}
