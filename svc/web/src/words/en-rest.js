/** English texts that only the pages of pages/rest.jsx read: they come with those, to be no part of the first load. */

import account from "./en/account.js";

export default { account };
