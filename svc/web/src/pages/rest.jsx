/** All pages that the first report does not need: one bundle, loaded after the first page is shown. */

import "../focus.js";
import "../ui/report-parts.jsx";
import { add } from "../words.js";
import english from "../words/en-rest.js";

add(english);

export { Account } from "./account.jsx";
export { Accounts } from "./accounts.jsx";
export { Connect } from "./connect.jsx";
export { Confirm, Forgot, Missing, Reset, SignIn, SignUp } from "./auth.jsx";
export { ConfirmNewEmail, RevertEmail } from "./email-change.jsx";
export { Events } from "./events.jsx";
export { Keys } from "./keys.jsx";
export { Profile } from "./profile.jsx";
export { Reference } from "./reference.jsx";
export { NewSite, SiteSettings } from "./site-forms.jsx";
export { Sites } from "./sites.jsx";
export { HostWarnings } from "../ui/dns-record.jsx";
export { NotFound } from "../ui/not-found.jsx";
export { Palette } from "../ui/palette.jsx";
export { Setup } from "../ui/setup.jsx";
export { Steps } from "../ui/steps.jsx";
