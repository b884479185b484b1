-- INT is a 64-bit integer and BYTES is a byte string. BYTEWISE orders a text by its bytes, regardless of the database's
-- locale. svc/store/engines/migrate.py replaces these words with those of each engine.
-- Times are epoch milliseconds, days are days since 1970-01-01, and JSON is text.
-- "Kept" says when the service deletes a row (svc/actors/service/housekeeping.py). Other rows are not deleted.

create table users (
    id IDENTITY,
    -- Null while the user is being deleted. The address is then in `departures`, and other users can have it.
    email TEXT,
    password_hash TEXT not null,
    email_confirmed INT not null,
    plan TEXT not null,
    -- 1: the user gets emails about problems with accounts.
    notify INT not null default 1,
    -- When mail servers began to refuse the address; null: they accept it. While they refuse it, the user gets only
    -- emails that the user requests.
    email_refused_at INT,
    created_at INT not null
);
-- Addresses that differ only in case are the same address. Several users can have the same unconfirmed address: each
-- sign-up creates a user with a separate password. When the link in one of their emails is opened, the other users are
-- deleted. Unconfirmed users are kept for 30 days, and as long as a token of an email to them.
create unique index users_email on users (lower(email)) where email_confirmed = 1;
create index users_sign_ups on users (lower(email), id);
create index users_unconfirmed on users (created_at) where email_confirmed = 0;

-- The number of events of each user. A transaction that adds an event locks this row last, so that the numbers of
-- events have no gaps, and no event appears after one with a higher number (svc/store/events.py). The row is created
-- and deleted together with the user. Deleting it deletes the events.
create table trails (
    user_id INT primary key references users (id) on delete cascade,
    length INT not null default 0
);

-- The changes of a user's objects, one row per change. via: what caused the change (session, a key's id, service,
-- operator, mail or nobody). ip: the address of the client. edge_account_id: null if the change concerns no account.
-- Rows are never changed. Kept for a year.
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
    -- The digest of the prefix that all refresh tokens of the session share. It identifies the session.
    family_digest TEXT not null unique,
    -- The name of the browser and system that signed in, and the digest of its cookie (see `devices`).
    browser TEXT not null,
    device_digest TEXT not null,
    created_at INT not null,
    -- The current tokens, when they were created (issued_at), and the salt with which they were derived from the
    -- previous refresh token. previous_digest: the digest of that token; null if there is none.
    access_digest TEXT not null unique,
    access_expires_at INT not null,
    refresh_digest TEXT not null,
    refresh_expires_at INT not null,
    previous_digest TEXT,
    -- The previous access token is accepted until previous_access_until, because requests may still use it.
    previous_access_digest TEXT unique,
    previous_access_until INT,
    salt TEXT not null,
    issued_at INT not null
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (refresh_expires_at);

-- The tokens of links in emails. Only the tokens of the newest email for each purpose are valid. user_id 0: a request
-- for an unknown address, which is also stored so that it takes as long as other requests. For this reason, user_id is
-- not a foreign key, and the tokens of a deleted user are deleted separately. Each attempt to send an email adds a
-- token, because an earlier copy may have arrived. Kept until they expire.
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

-- The browsers from which a user has signed in. A secret cookie identifies a browser, and no IP address is stored.
-- Kept for 400 days after the last sign-in, as long as browsers keep the cookie.
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

-- The responses to requests with an Idempotency-Key. edge_accounts: the accounts to which the credential was
-- restricted; null: all accounts of the user. Kept until they expire, after a day.
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
-- Finds the large responses, whose total size per user is limited (LARGE_BYTES in svc/store/idempotency.py).
create index idempotency_large on idempotency (user_id) where length(body) > 4096;

-- Users who are being deleted. The row is created by the request with the correct password, and deleted together with
-- the user at the end (svc/store/user_deletions.py).
create table departures (
    user_id INT primary key references users (id) on delete cascade,
    email TEXT not null,
    -- The access token of the request. The session can only request the result.
    access_digest TEXT not null unique,
    began_at INT not null
);

create table accounts (
    id TEXT primary key,
    user_id INT not null references users (id),
    edge_account_id TEXT not null unique,
    name TEXT not null,
    -- The account's plan at Cloudflare, as set by the user: free or paid.
    plan TEXT not null default 'free',
    state TEXT not null,
    token_id TEXT,
    token_name TEXT,
    token_expires_at INT,
    sealed_token BYTES,
    token_made_at INT,
    -- When Cloudflare began to reject the token, and the number of failed checks since then. Null and 0: Cloudflare
    -- accepts the token.
    token_refused_at INT,
    token_refusals INT not null default 0,
    -- When a health check became due outside its schedule, for example because Cloudflare rejected a call. Null: no
    -- such check is due.
    suspected_at INT,
    -- The time of the last health check, if it found no problem. Null: it found one, or there was no health check.
    well_at INT,
    error TEXT,
    -- JSON lists: the codes of warnings, and the names of tokens that may be valid and that only the customer can
    -- revoke.
    warnings TEXT not null default '[]',
    revoke_tokens TEXT not null default '[]',
    -- Null if the bootstrap token was deleted or has expired.
    bootstrap_expires_at INT,
    -- The location that the user has chosen for the database. Null: Cloudflare chooses it.
    location TEXT,
    database_id TEXT,
    -- When the creation of the database was requested. Null once the result is stored.
    database_sought_at INT,
    script_etag TEXT,
    edge_bundle TEXT,
    edge_schema INT,
    installed_at INT,
    install_id TEXT,
    -- The time of the Worker's last request, or the end of the install if that is later.
    heard_at INT,
    config_version INT not null,
    synced_version INT not null,
    -- The newest version that the service has tried to write to the Worker's database. If that database has a newer
    -- version, this store has lost commits.
    asked_version INT not null default 0,
    -- Set if the store was restored or has lost commits: the time up to which the store has the Worker's totals (0: it
    -- has none). Null: no Worker data has to be read back.
    restored_as_of INT,
    push TEXT,
    -- The number of the last part of a push that was stored or rejected. Null: unknown. If the Worker skips the number
    -- that follows, this store has lost parts that it had confirmed.
    last_part INT default 0,
    -- The account's plan usage (JSON), and when to compute it next. Null: it has not been computed yet.
    advice TEXT,
    advice_due_at INT,
    -- The problems of which the user has been notified (JSON), and when to compare them with the account again.
    told TEXT not null default '{}',
    notice_due_at INT,
    created_at INT not null
);
create index accounts_user on accounts (user_id);
-- Counts accounts by state.
create index accounts_state on accounts (state);

-- Disconnected accounts. Reports about their sites and links need this row, and a repeated request to disconnect gets
-- the first response. The Cloudflare account can be connected again with a new id, also by another user. Kept for a
-- year, and longer if the account still has sites, links or operations.
create table former_accounts (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    edge_account_id TEXT not null,
    name TEXT not null,
    disconnected_at INT not null,
    -- The time up to which the store has the account's totals. Null: there are none.
    counted_until INT,
    revoke_token TEXT,
    -- The resources that remain at Cloudflare (JSON list).
    things_left TEXT not null,
    -- 1: the account was disconnected because its user was deleted. The response to the deletion lists it.
    told_with_user INT not null default 0
);
create index former_accounts_user on former_accounts (user_id);
create index former_accounts_age on former_accounts (disconnected_at);

-- Queued emails. Each row is added in the transaction that causes the email. The email is composed when it is sent, so
-- that no link with a token is stored. user_id null: the email is for the user who has the address at that time, if
-- there is one, or it is the last email to a deleted user. Kept until a mail server has accepted the email, or until
-- ends_at.
create table outbox (
    id TEXT primary key,
    kind TEXT not null,
    address TEXT not null,
    user_id INT references users (id) on delete cascade,
    account_id TEXT references accounts (id) on delete cascade,
    -- The facts that the email contains (JSON).
    facts TEXT not null,
    -- The number of attempts, and of those with an unknown result.
    attempts INT not null default 0,
    unsure INT not null default 0,
    -- The step at which the last attempt failed, and the server's codes.
    trouble TEXT,
    created_at INT not null,
    due_at INT not null,
    ends_at INT not null
);
create index outbox_user on outbox (user_id);
create index outbox_account on outbox (account_id, created_at);
create index outbox_address on outbox (address, kind);
-- Users wait for emails that they requested. Emails about accounts are sent after them.
create index outbox_asked on outbox (due_at) where account_id is null;
create index outbox_notices on outbox (due_at) where account_id is not null;
create index outbox_end on outbox (ends_at);

-- Operations of accounts. The end of a disconnect deletes the account's row, but not its operations. Kept for a year
-- after their end. The latest operation of an account is kept as long as the account. An operation that may have left
-- something at Cloudflare is kept permanently.
create table operations (
    id TEXT primary key,
    account_id TEXT not null,
    edge_account_id TEXT not null,
    kind TEXT not null,
    state TEXT not null,
    step TEXT not null,
    error TEXT,
    attempts INT not null,
    -- Set while Cloudflare may have a working token of this operation that is not stored with the account.
    token_asked_at INT,
    token_id TEXT,
    -- The number of uploads of the Worker whose response was not stored. Cloudflare may have accepted them.
    open_uploads INT not null default 0,
    created_at INT not null,
    updated_at INT not null
);
-- A Cloudflare account has at most one running operation.
create unique index operations_running on operations (edge_account_id) where state = 'running';
create index operations_account on operations (account_id);
create index operations_age on operations (updated_at);

-- The rollouts of new Workers, newest last. Only the newest continues. updated, failed: the numbers of accounts in
-- wave_accounts whose new Worker has sent a report, and whose update failed.
create table rollouts (
    id IDENTITY,
    bundle TEXT not null,
    state TEXT not null,
    -- Why the rollout is halted.
    reason TEXT,
    -- 1: the rollout halts if too many updates fail.
    watched INT not null default 1,
    wave INT not null default 0,
    -- wave_began_at: null if the wave has not begun. wave_size: the number of accounts to update; null: all others.
    wave_began_at INT,
    wave_size INT,
    updated INT not null default 0,
    failed INT not null default 0,
    started_at INT not null,
    -- When the state or the wave last changed.
    changed_at INT not null,
    -- The time of the last check. Before patient_until, missing reports do not count as failures, because the service
    -- was not running.
    looked_at INT not null,
    patient_until INT not null default 0
);

-- The accounts of the newest rollout. wave null: an account that keeps the previous Worker, for comparison.
create table wave_accounts (
    account_id TEXT primary key references accounts (id) on delete cascade,
    wave INT,
    -- When to update the account.
    due_at INT not null,
    -- Attempts before this time do not count.
    since INT not null,
    operation_id TEXT,
    -- The Worker's last report before the row was added (JSON).
    push_before TEXT
);
create index wave_accounts_wave on wave_accounts (wave);

-- Kept until valid_until. Null: the key of the current Worker.
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

-- Routes at Cloudflare that are no longer needed: those of deleted sites, old paths and replaced link hosts. The row is
-- added in the transaction of the change, and kept until the route is deleted at Cloudflare.
create table unwanted_routes (
    account_id TEXT not null references accounts (id) on delete cascade,
    zone_id TEXT not null,
    host TEXT not null,
    pattern TEXT not null,
    route_id TEXT,
    site_id TEXT,
    -- When to try again (epoch ms). Null before the first attempt.
    again_at INT,
    primary key (account_id, zone_id, pattern)
);

-- Kept after a disconnect, because reports need the rows. The same applies to `links` below.
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
    -- Why the Worker's database does not contain the site. Null: it does, or the sync has not ended.
    config_error TEXT,
    -- The first hour with views in a push, but not before created_at. Null: there was no view yet.
    first_view_at INT,
    version INT not null,
    created_at INT not null
);
create unique index sites_host on sites (account_id, host) where state <> 'deleted';
create index sites_user on sites (user_id, created_at, id);
create index sites_version on sites (account_id, version);

-- Old paths of sites. route_id null: the route has not been created yet. ended_version: the configuration version that
-- removed the path; null while the path still counts. Kept as long as the site, so that no path is used again.
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

-- The totals that Workers have pushed. target: the id of a site or link. as_of, final: the fields of the part that
-- contained the row, so that an older part never lowers a total. Kept: hours for [timing] hours_kept_days, days
-- permanently. An imported day has as_of 0, so that the Worker's count replaces it.
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

-- Hours without hourly totals, because of the Worker's write budget. Kept as long as hours, also after a disconnect.
create table refused_hours (
    account_id TEXT not null,
    at INT not null,
    primary key (account_id, at)
);
create index refused_hours_age on refused_hours (at);

-- Days whose totals an account's Worker has sent completely. Kept for 40 days, because the service accepts counts only
-- for the last 37 days (store/totals.py).
create table final_days (
    account_id TEXT not null references accounts (id) on delete cascade,
    day INT not null,
    primary key (account_id, day)
);
create index final_days_age on final_days (day);

-- The time up to which each account's Worker has sent its totals.
create table pushed (
    account_id TEXT primary key references accounts (id) on delete cascade,
    as_of INT not null
);

-- One row. epoch: the number of services that have opened the store so far (PostgreSQL). looks: the service changes
-- this number to test whether the store accepts writes. backed_up_at: the time of the last successful backup.
create table serving (
    epoch INT not null,
    looks INT not null,
    backed_up_at INT
);
insert into serving (epoch, looks) values (0, 0);
