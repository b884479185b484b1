-- Public pages with the counts of a site, a link or an account. target_kind: site, link or account; target: its id, and
-- account_id: the id of its account. The URL of the page contains a secret. digest: the secret's digest, to find the
-- row. sealed_secret: the secret, encrypted for the row's id, to show the URL to the owner again. until: the last day
-- of the page; null: the page does not expire. periods: a JSON list; null: any days. lists: the page shows breakdowns.
-- embed: a JSON list of origins.
create table shares (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    account_id TEXT not null,
    target_kind TEXT not null,
    target TEXT not null,
    name TEXT not null,
    digest TEXT not null unique,
    sealed_secret BYTES not null,
    password_hash TEXT,
    until INT,
    periods TEXT,
    lists INT not null,
    embed TEXT not null,
    created_at INT not null
);
create index shares_target on shares (target, created_at, id);
create index shares_user on shares (user_id, created_at, id);
