"""Builds the documentation that the service serves at /help. This code runs during `make build`. Packages contain only
its output.

markdown   parses and renders one page
library    the pages, their order, and the targets of their links
template   the HTML around a page, with navigation and table of contents
__main__   `python -m svc.web.help FILE` writes all pages, the search index and llms.txt as one JSON file

`svc/web/build.js` adds the stylesheet and the script (`svc/web/src/help/`), and compresses the files. The build fails
if a page contains raw HTML, an image, a broken link or a broken anchor, or if no README lists the page.
"""
