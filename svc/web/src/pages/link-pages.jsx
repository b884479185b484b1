/** The pages and parts of pages for links: one bundle, which is loaded when one of them is shown. */

import { add } from "../words.js";
import english from "../words/en-links.js";
import "./rest.jsx";

add(english);

export { EditLink, NewLink } from "./link-forms.jsx";
export { ImportLinks } from "./link-import.jsx";
export { Links } from "./links.jsx";
export { TagReport } from "./tag.jsx";
export { CreatedLink } from "../ui/created-link.jsx";
export { DeletedLink } from "../ui/deleted-link.jsx";
export { DeleteLink } from "../ui/delete-link.jsx";
export { LinkFacts } from "../ui/link-facts.jsx";
export { QrDialog } from "../ui/qr.jsx";
export { Leading } from "../ui/try-link.jsx";
