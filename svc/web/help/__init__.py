"""Build of the documentation that the service serves at /help. It runs in `make build` and is not in the packages.

markdown   parse and render one page
library    the pages, their order, and the targets of their links
template   the HTML around a page, with navigation and table of contents
__main__   `python -m svc.web.help FILE` writes all pages, the search index and llms.txt as one JSON file

`svc/web/build.js` adds the stylesheet and the script (`svc/web/src/help/`), and compresses the files. A broken link or
anchor, raw HTML, an image or a page that no README lists fails the build.
"""
