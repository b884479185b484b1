/**
 * The public page of a share, as a separate bundle. It uses no session and stores nothing in the viewer's browser: the
 * build replaces api.js, settings.js and report-part.jsx with the modules in this folder.
 */

import { render } from "preact";

import "../focus.js";
import { listen, match } from "../router.js";
import { add, loadWords } from "../words.js";
import lists from "../words/en/lists.js";
import range from "../words/en/range.js";
import shares from "../words/en/shares.js";
import { reportHeight } from "./height.js";
import { SharePage } from "./page.jsx";
import { sharePath } from "./reading.js";

add(/** @type {any} */ ({ lists, range, shares }));
listen((path) => path === sharePath() || match(`${sharePath()}/sites/:id`, path) !== null);
reportHeight();
const root = document.getElementById("app");
if (root) loadWords().finally(() => render(<SharePage />, root));
