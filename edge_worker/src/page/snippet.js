/*
 * The snippet for web pages. It counts a page view when a page is shown, so a prerendered page is counted only when the
 * visitor opens it. It counts another view for each new path in a single-page application, and for each return from the
 * back/forward cache. The body of a beacon has four lines: the path, the referrer, the parameters that name the source
 * and the campaign, and "true" if a program controls the browser. If no page was loaded since the previous view, the
 * path of that view is the referrer. The snippet stores nothing. __PATH__ is the site's path.
 */
{
  let /** @type {string | undefined} */ shown,
    path,
    nav = navigator,
    doc = document,
    loc = location,
    show = () =>
      // If the page has a form with the name `prerendering`, the property is that form. The unary plus then returns
      // NaN.
      // @ts-expect-error -- unary plus on a boolean saves bytes.
      +doc.prerendering ||
      shown == (path = loc.pathname) ||
      nav.sendBeacon?.(
        "__PATH__",
        // The parameters are utm_source, utm_campaign and ref, separated by commas. The short pattern saves bytes.
        // @ts-expect-error -- join converts the template to a string; saves bytes.
        [path, shown || doc.referrer, loc.href.match(/[?&](utm_(ca|s)\w+|ref)=[^&#]*/g), nav.webdriver].join`\n`,
        // @ts-expect-error -- sendBeacon takes two arguments; the third records the path of the view.
        (shown = path),
      );
  // Run only once, even if the page contains the snippet twice. The snippet may also run again if the page has replaced
  // its body.
  if (!doc.$v) {
    show();
    // One listener covers pushState, replaceState and history navigation. Some browsers released before 2026 have no
    // Navigation API, so the snippet polls the path there.
    self.navigation ? navigation.addEventListener("currententrychange", show) : setInterval(show, 500);
    // A page that returns from the back/forward cache must be counted again. "//" is passed as the previous path,
    // because no page has this path. The Worker takes it for a page of this site, because it begins with "/".
    // @ts-expect-error -- show takes no argument; the argument resets `shown` so that the restored page counts.
    addEventListener("pageshow", (event) => event.persisted && show((shown = "//")));
    doc.$v = doc.onprerenderingchange = show;
  }
}
