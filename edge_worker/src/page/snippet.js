/*
 * What a page carries. Counts the page's view, and one more for each path that a single-page application shows, for a
 * page that comes back from the back/forward cache, and for a prerendered page when it is shown. The body: the path,
 * where the visitor came from (the path before, for a view of the same page load), utm_source or ref with its name, and
 * whether a program drives the browser. Nothing is stored; __PATH__ is the site's own path.
 */
{
  let /** @type {string | undefined} */ shown,
    path,
    nav = navigator,
    doc = document,
    loc = location,
    show = () =>
      // A number: a form of that name, which hides the property, is none.
      // @ts-expect-error -- a plus before a boolean: bytes.
      +doc.prerendering ||
      shown == (path = loc.pathname) ||
      nav.sendBeacon?.(
        "__PATH__",
        // @ts-expect-error -- exec makes a string of the location, and join one of the template: bytes.
        [path, shown || doc.referrer, /[?&](?:utm_source|ref)=[^&#]*/.exec(loc), nav.webdriver].join`\n`,
        // @ts-expect-error -- sendBeacon takes two arguments; the third remembers the path when a view was sent.
        (shown = path),
      );
  // Included twice, or run again by a page that swaps its body: once is enough.
  if (!doc.$v) {
    show();
    // One listener for pushState, replaceState and going back; browsers of before 2026 without it look twice a second.
    self.navigation ? navigation.addEventListener("currententrychange", show) : setInterval(show, 500);
    // "//" is no page's path, and not outside the site either.
    // @ts-expect-error -- show takes no argument; this one makes the page that came back a path not shown yet.
    addEventListener("pageshow", (event) => event.persisted && show((shown = "//")));
    doc.$v = doc.onprerenderingchange = show;
  }
}
