/** The page with all components, which demonstrations serve at /components. It is a separate bundle. */

import { render } from "preact";

import "../focus.js";
import { add, loadWords } from "../words.js";
import english from "../words/en-rest.js";
import { Components } from "./components.jsx";

add(english);
const root = document.getElementById("app");
if (root) loadWords().finally(() => render(<Components />, root));
