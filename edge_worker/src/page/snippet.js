/*
 * What a page carries. Counts the page's view, and one more for each path that a single-page application shows, for a
 * page that comes back from the back/forward cache, and for a prerendered page when it is shown. The body: the path,
 * where the visitor came from (the path before, for a view of the same page load), utm_source or ref with its name, and
 * whether a program drives the browser. Nothing is stored; __PATH__ is the site's own path.
 */
{
  let shown,
    path,
    n = navigator,
    d = document,
    l = location,
    // sendBeacon takes two arguments; the third is there to remember the path when a view was sent.
    show = () =>
      d.prerendering ||
      shown == (path = l.pathname) ||
      n.sendBeacon?.(
        "__PATH__",
        [path, shown || d.referrer, /[?&](?:utm_source|ref)=[^&#]*/.exec(l), n.webdriver].join`\n`,
        (shown = path),
      );
  show();
  // One listener for pushState, replaceState and going back; browsers of before 2026 without it look twice a second.
  self.navigation ? navigation.addEventListener("currententrychange", show) : setInterval(show, 500);
  d.onprerenderingchange = show;
  // "//" is no page's path, and not outside the site either.
  addEventListener("pageshow", (event) => event.persisted && show((shown = "//")));
}
