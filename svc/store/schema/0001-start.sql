-- INT is a 64-bit integer, BYTES a byte string, BYTEWISE says that a text is ordered by its bytes, whatever the
-- database's language: the engines write them differently (migrate.py).
-- Times are epoch milliseconds, days are days since 1970-01-01, JSON is text.
-- "Kept" says when housekeeping deletes a row (svc/actors/housekeeping.py); rows of other tables stay.

create table users (
    id IDENTITY,
    -- Null while the user is being deleted: the address is in `departures` then, and nobody's any more.
    email TEXT,
    password_hash TEXT not null,
    email_confirmed INT not null,
    plan TEXT not null,
    -- Whether troubles of the accounts are told by e-mail.
    notify INT not null default 1,
    -- Since when mail servers refuse the address; null: they do not. Nothing goes to it then but what its user asks for.
    email_refused_at INT,
    created_at INT not null
);
-- An address is one whatever its capitals. Until it is confirmed it is nobody's: each sign-up is a user of its own, with
-- its own password; the one whose link is opened stays, the others are forgotten. Kept, unconfirmed: 30 days, and as long
-- as a token of an e-mail to them.
create unique index users_email on users (lower(email)) where email_confirmed = 1;
create index users_sign_ups on users (lower(email), id);
create index users_unconfirmed on users (created_at) where email_confirmed = 0;

-- Each user has a trail of events: how many there were. Its row is locked by whoever writes one, as the last thing before
-- the commit, so that numbers have no gap and none appears behind a higher one (svc/store/events.py). It is made with its
-- user and ends with it, and ends the events.
create table trails (
    user_id INT primary key references users (id) on delete cascade,
    length INT not null default 0
);

-- What was changed for a user: who (via: session, a key's id, service, operator, mail, nobody), from which address, what.
-- One row a change, never changed itself. edge_account_id null: it is about the user alone. Kept for a year.
create table events (
    user_id INT not null references trails (user_id) on delete cascade,
    number INT not null,
    at INT not null,
    via TEXT not null,
    ip TEXT,
    action TEXT not null,
    target TEXT,
    outcome TEXT not null,
    edge_account_id TEXT,
    count INT not null,
    primary key (user_id, number)
) WITHOUT_ROWID;
create index events_age on events (at);

-- Kept until the refresh token expires.
create table sessions (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    -- Of what all refresh tokens of the session begin with: it finds the session by any of them.
    family_digest TEXT not null unique,
    -- The browser and system that signed in, in words; and the digest of its cookie (devices).
    browser TEXT not null,
    device_digest TEXT not null,
    created_at INT not null,
    -- The newest pair of tokens, when it was made, and the salt that made it of the refresh token before, whose digest is
    -- previous_digest; null: it is the first pair.
    access_digest TEXT not null unique,
    access_expires_at INT not null,
    refresh_digest TEXT not null,
    refresh_expires_at INT not null,
    previous_digest TEXT,
    -- The access token before is still accepted, until then: answers with it may be under way.
    previous_access_digest TEXT unique,
    previous_access_until INT,
    salt TEXT not null,
    issued_at INT not null
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (refresh_expires_at);

-- Only the newest e-mail of a purpose counts. User 0 is nobody: what is asked for an address that nobody has is written
-- down, too, so that it costs the same. That is why user_id is no foreign key; whoever deletes a user deletes the tokens.
-- An e-mail that is sent again has one more each time, since the copy before may have arrived. Kept until they expire.
create table mail_tokens (
    digest TEXT primary key,
    user_id INT not null,
    purpose TEXT not null,
    mail_id TEXT not null,
    expires_at INT not null
);
create index mail_tokens_user on mail_tokens (user_id, purpose);
create index mail_tokens_mail on mail_tokens (mail_id);
create index mail_tokens_expiry on mail_tokens (expires_at);

-- Browsers that a user has signed in from; a secret cookie tells them, no address is kept. Kept for 400 days after the
-- last sign-in, as long as a browser keeps the cookie.
create table devices (
    user_id INT not null references users (id) on delete cascade,
    digest TEXT not null,
    seen_at INT not null,
    primary key (user_id, digest)
);
create index devices_age on devices (seen_at);

create table keys (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    digest TEXT not null unique,
    name TEXT,
    prefix TEXT not null,
    scopes TEXT not null,
    allow_accounts TEXT,
    allow_ips TEXT,
    created_at INT not null,
    last_used INT
);
create index keys_user on keys (user_id);

-- The first answers to requests with an Idempotency-Key. edge_accounts: those that the credential was limited to; null:
-- all of the user's. Kept until they expire, a day.
create table idempotency (
    user_id INT not null references users (id) on delete cascade,
    edge_accounts TEXT,
    method TEXT not null,
    path TEXT not null,
    key TEXT not null,
    body_digest TEXT not null,
    status INT not null,
    content_type TEXT not null,
    headers TEXT not null,
    body BYTES not null,
    expires_at INT not null,
    primary key (user_id, method, path, key)
);
create index idempotency_expiry on idempotency (expires_at);
-- The large ones, which are bounded for each user (LARGE_BYTES of svc/store/idempotency.py).
create index idempotency_large on idempotency (user_id) where length(body) > 4096;

-- Users who are being deleted: from the moment on when they asked and their password was right, until nothing of them is
-- left, which takes the row along (svc/actors/departures.py).
create table departures (
    user_id INT primary key references users (id) on delete cascade,
    email TEXT not null,
    -- The session that asked: it may ask for the outcome, and nothing else.
    access_digest TEXT not null unique,
    began_at INT not null
);

create table accounts (
    id TEXT primary key,
    user_id INT not null references users (id),
    edge_account_id TEXT not null unique,
    name TEXT not null,
    -- Its plan at the edge platform, by its user's own word: free or paid.
    plan TEXT not null default 'free',
    state TEXT not null,
    token_id TEXT,
    token_name TEXT,
    token_expires_at INT,
    sealed_token BYTES,
    token_made_at INT,
    -- Since when, and at how many checks, the platform has refused the token; null and 0 once it accepts it.
    token_refused_at INT,
    token_refusals INT not null default 0,
    -- Since when a refusal of the platform makes a look at the whole account due.
    suspected_at INT,
    -- When the last look at the whole account found all well; null: it did not, or there was none.
    well_at INT,
    error TEXT,
    -- What needs a hand though the account works: JSON lists of names of warnings, and of tokens at the platform that
    -- may be alive and that only the customer can revoke.
    warnings TEXT not null default '[]',
    revoke_tokens TEXT not null default '[]',
    -- Null once the bootstrap token is known to be gone.
    bootstrap_expires_at INT,
    -- Where the user wants the database to be; null: where the edge platform makes it.
    location TEXT,
    database_id TEXT,
    -- While the creation of the database has been asked for and its outcome is not recorded.
    database_sought_at INT,
    script_etag TEXT,
    edge_bundle TEXT,
    edge_schema INT,
    installed_at INT,
    install_id TEXT,
    -- The worker's last sign of life, or the end of its install.
    heard_at INT,
    config_version INT not null,
    synced_version INT not null,
    -- The newest version that was about to be written to the worker's database: it has a higher one only when this store
    -- has lost commits.
    asked_version INT not null default 0,
    -- The store was restored from a backup, or lost commits, and the account's worker has not been asked yet what it has
    -- more: up to when its totals were known (0: none were). Null: the store has all that the worker sent.
    restored_as_of INT,
    push TEXT,
    -- The number of the last part of a push that was settled; null: not known. A worker that goes on with a later one than
    -- the next has parts that this store took and lost.
    last_part INT default 0,
    -- How near the account is to its limits (JSON), and when that is to be computed next; null: it never was.
    advice TEXT,
    advice_due_at INT,
    -- What the user was told of the account's troubles (JSON), and when that has to be looked at again.
    told TEXT not null default '{}',
    notice_due_at INT,
    created_at INT not null
);
create index accounts_user on accounts (user_id);
-- Counts them by state.
create index accounts_state on accounts (state);

-- What is left of accounts that were disconnected: their sites and links can be reported by it, and a repeated disconnect
-- gets its first answer. The edge account may be connected again, also by another user, under a new id. Kept as long as
-- sites, links or operations of it, and for a year.
create table former_accounts (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    edge_account_id TEXT not null,
    name TEXT not null,
    disconnected_at INT not null,
    -- Up to when its totals are known; null: it never counted.
    counted_until INT,
    revoke_token TEXT,
    -- What could not be removed from the edge platform: a JSON list of sentences.
    things_left TEXT not null,
    -- Whether it was disconnected because its user was being deleted, who is told of it in the answer to that.
    told_with_user INT not null default 0
);
create index former_accounts_user on former_accounts (user_id);
create index former_accounts_age on former_accounts (disconnected_at);

-- E-mails that wait to be sent, each written together with its cause. What it says is composed when it is sent, so no link
-- that opens something is ever stored. user_id null: whoever has the address then, which may be nobody; or, of the last
-- one to a user who was deleted, who had it. Kept until a mail server has taken it, or until ends_at.
create table outbox (
    id TEXT primary key,
    kind TEXT not null,
    address TEXT not null,
    user_id INT references users (id) on delete cascade,
    account_id TEXT references accounts (id) on delete cascade,
    -- What it tells (JSON).
    facts TEXT not null,
    -- How often it was composed, and how often then nobody knows whether it was taken.
    attempts INT not null default 0,
    unsure INT not null default 0,
    -- The step at which it failed last, and the server's codes.
    trouble TEXT,
    created_at INT not null,
    due_at INT not null,
    ends_at INT not null
);
create index outbox_user on outbox (user_id);
create index outbox_account on outbox (account_id, created_at);
create index outbox_address on outbox (address, kind);
-- Somebody waits for those that were asked for; those about accounts come after them.
create index outbox_asked on outbox (due_at) where account_id is null;
create index outbox_notices on outbox (due_at) where account_id is not null;
create index outbox_end on outbox (ends_at);

-- An operation outlives its account's record, which the end of a disconnect removes. Kept for a year after its end; the
-- latest of an account as long as the account, and one that may have left something at the platform for ever.
create table operations (
    id TEXT primary key,
    account_id TEXT not null,
    edge_account_id TEXT not null,
    kind TEXT not null,
    state TEXT not null,
    step TEXT not null,
    error TEXT,
    attempts INT not null,
    -- While a working token may be alive at the platform that is not the account's own.
    token_asked_at INT,
    token_id TEXT,
    -- Uploads of the worker that were begun and whose answer was never recorded: the platform may have taken them.
    open_uploads INT not null default 0,
    created_at INT not null,
    updated_at INT not null
);
-- One operation at a time on an edge account.
create unique index operations_running on operations (edge_account_id) where state = 'running';
create index operations_account on operations (account_id);
create index operations_age on operations (updated_at);

-- Each worker that the service has brought to its accounts, the newest last; only the newest goes on. Counts are of
-- wave_accounts: those whose new worker has reported itself, and those whose update failed.
create table rollouts (
    id IDENTITY,
    bundle TEXT not null,
    state TEXT not null,
    -- Why it is halted.
    reason TEXT,
    -- Whether it halts by itself.
    watched INT not null default 1,
    wave INT not null default 0,
    -- Null: the wave has not begun. How many accounts it is to bring the worker to; null: all that are left.
    wave_began_at INT,
    wave_size INT,
    updated INT not null default 0,
    failed INT not null default 0,
    started_at INT not null,
    -- Its state or its wave.
    changed_at INT not null,
    -- When the service looked last; and until when silence is its own fault, as it was away.
    looked_at INT not null,
    patient_until INT not null default 0
);

-- The accounts of the newest rollout. wave null: one of some that have the worker before, to compare a wave with.
create table wave_accounts (
    account_id TEXT primary key references accounts (id) on delete cascade,
    wave INT,
    -- When its turn in the wave is.
    due_at INT not null,
    -- What was tried before that is forgotten.
    since INT not null,
    operation_id TEXT,
    -- The worker's report (JSON) when it came into this table.
    push_before TEXT
);
create index wave_accounts_wave on wave_accounts (wave);

-- Kept until valid_until; null: the key of the worker that runs.
create table worker_keys (
    digest TEXT primary key,
    account_id TEXT not null references accounts (id) on delete cascade,
    valid_until INT
);
create index worker_keys_account on worker_keys (account_id);
create index worker_keys_expiry on worker_keys (valid_until);

create table link_hosts (
    account_id TEXT primary key references accounts (id) on delete cascade,
    host TEXT not null,
    zone_id TEXT not null,
    state TEXT not null,
    route_id TEXT,
    error TEXT,
    version INT not null
);

-- Routes at the platform that nothing needs any more: of a deleted site, an old path, a replaced link host. Written with
-- the change that makes them so, kept until they are gone there.
create table unwanted_routes (
    account_id TEXT not null references accounts (id) on delete cascade,
    zone_id TEXT not null,
    host TEXT not null,
    pattern TEXT not null,
    route_id TEXT,
    site_id TEXT,
    -- When to look for it again (epoch ms); null before the first look.
    again_at INT,
    primary key (account_id, zone_id, pattern)
);

-- Sites and links outlive the account: their totals can be reported after a disconnect.
create table sites (
    id TEXT primary key,
    account_id TEXT not null,
    user_id INT not null references users (id) on delete cascade,
    host TEXT not null,
    zone_id TEXT not null,
    state TEXT not null,
    path TEXT not null,
    script_name TEXT not null,
    excluded_paths TEXT not null,
    respect_gpc INT not null,
    route_id TEXT,
    error TEXT,
    -- Why the worker's database does not have it, though it was synced.
    config_error TEXT,
    -- The first hour with views that a push has told of, no earlier than the site is; null before.
    first_view_at INT,
    version INT not null,
    created_at INT not null
);
create unique index sites_host on sites (account_id, host) where state <> 'deleted';
create index sites_user on sites (user_id, created_at, id);
create index sites_version on sites (account_id, version);

-- Old paths of a site. route_id null: the route is still to be made. ended_version: the configuration version from which
-- on the worker does not know the path; null while it still counts. They stay as long as the site, so that no path comes
-- back.
create table retiring_paths (
    site_id TEXT not null references sites (id) on delete cascade,
    path TEXT not null,
    route_id TEXT,
    until INT not null,
    ended_version INT,
    primary key (site_id, path)
);

create table links (
    id TEXT primary key,
    account_id TEXT not null,
    user_id INT not null references users (id) on delete cascade,
    code TEXT BYTEWISE not null,
    url TEXT not null,
    rules TEXT not null,
    state TEXT not null,
    config_error TEXT,
    version INT not null,
    created_at INT not null
);
create unique index links_code on links (account_id, code) where state = 'active';
create index links_by_age on links (user_id, state, created_at, id);
create index links_by_code on links (user_id, state, lower(code), code, id);
create index links_version on links (account_id, version);

-- Totals of the worker's pushes. A target is a site's or a link's id; as_of and final are those of the part that
-- brought the row, so that an older part never lowers it. Kept: hours for [timing] hours_kept_days, days for ever.
-- A day that is `imported` comes from another product's export and has as_of 0: the worker's own count takes its place.
create table hours (
    target TEXT not null,
    at INT not null,
    views INT not null,
    bots INT not null,
    visitors INT not null,
    as_of INT not null,
    final INT not null,
    primary key (target, at)
) WITHOUT_ROWID;
create index hours_age on hours (at);

create table days (
    target TEXT not null,
    day INT not null,
    views INT not null,
    bots INT not null,
    visitors INT not null,
    as_of INT not null,
    final INT not null,
    imported INT not null default 0,
    primary key (target, day)
) WITHOUT_ROWID;

-- Hours whose points the worker's write budget refused. Kept as long as hours, also after the account.
create table refused_hours (
    account_id TEXT not null,
    at INT not null,
    primary key (account_id, at)
);
create index refused_hours_age on refused_hours (at);

-- Days of which an account's worker has sent everything. Kept for 40 days: reports look back 30, and a push brings nothing
-- older than 37 (store/totals.py).
create table final_days (
    account_id TEXT not null references accounts (id) on delete cascade,
    day INT not null,
    primary key (account_id, day)
);
create index final_days_age on final_days (day);

-- Up to where each account's worker has sent its totals.
create table pushed (
    account_id TEXT primary key references accounts (id) on delete cascade,
    as_of INT not null
);

-- One row. epoch counts the services that have taken the store, one after the other (PostgreSQL); looks is what the
-- service changes to see whether the store can be written to; backed_up_at is when the last good backup was made.
create table serving (
    epoch INT not null,
    looks INT not null,
    backed_up_at INT
);
insert into serving (epoch, looks) values (0, 0);
