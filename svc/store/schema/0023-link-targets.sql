-- The version of the link whose targets are in link_targets. 0: none.
alter table links add column targets_version INT not null default 0;
create index links_unlisted on links (id) where targets_version <> version;

-- The service's requests to the URLs of links. One row for each URL, regardless of the number of links and users.
-- digest: the URL's digest. due_at: when to request the URL next. requested_at: when the last request began; null:
-- never. problem: the problem of the last request that had a result; null: none. failed_at: when the first request with
-- a problem began, since the last request without one. broken_at: when the problem had lasted for a day; null: it has
-- not.
create table target_checks (
    digest TEXT primary key,
    url TEXT not null,
    due_at INT not null,
    requested_at INT,
    problem TEXT,
    failed_at INT,
    broken_at INT
);
create index target_checks_due on target_checks (due_at, digest);

-- The targets of each link, as of links.targets_version. broken: 1 if the URL is broken and the user has not been
-- notified, 2 if the URL is broken and the user has been notified, otherwise 0. Deleted with the link.
create table link_targets (
    link_id TEXT not null references links (id) on delete cascade,
    digest TEXT not null references target_checks (digest),
    user_id INT not null,
    broken INT not null default 0,
    primary key (link_id, digest)
);
create index link_targets_digest on link_targets (digest);
create index link_targets_broken on link_targets (user_id, broken) where broken > 0;

-- The day (epoch day) of the last email about broken targets to each user.
create table target_notices (
    user_id INT primary key references users (id) on delete cascade,
    day INT not null
);
