/*
 * The snippet for web pages. Counts a page view when the page is shown, and another one for each path that a
 * single-page application shows, for each return from the back/forward cache, and for a prerendered page once it is
 * shown. The body: the path; the referrer (the previous path for a view of the same page load); utm_source or ref with
 * its name; whether a program drives the browser. Nothing is stored. __PATH__ is the site's path.
 */
{
  let /** @type {string | undefined} */ shown,
    path,
    nav = navigator,
    doc = document,
    loc = location,
    show = () =>
      // The plus excludes a form with this name, which would hide the property.
      // @ts-expect-error -- unary plus on a boolean saves bytes.
      +doc.prerendering ||
      shown == (path = loc.pathname) ||
      nav.sendBeacon?.(
        "__PATH__",
        // @ts-expect-error -- exec converts the location to a string, and join converts the template; saves bytes.
        [path, shown || doc.referrer, /[?&](?:utm_source|ref)=[^&#]*/.exec(loc), nav.webdriver].join`\n`,
        // @ts-expect-error -- sendBeacon takes two arguments; the third records the path once a view is sent.
        (shown = path),
      );
  // Run only once if the snippet is included twice, or run again by a page that replaces its body.
  if (!doc.$v) {
    show();
    // One listener covers pushState, replaceState and history navigation. Browsers before 2026 lack it: poll instead.
    self.navigation ? navigation.addEventListener("currententrychange", show) : setInterval(show, 500);
    // "//" is not a possible path of a page, and it is still part of the site.
    // @ts-expect-error -- show takes no argument; the argument resets `shown` so that the restored page counts.
    addEventListener("pageshow", (event) => event.persisted && show((shown = "//")));
    doc.$v = doc.onprerenderingchange = show;
  }
}
