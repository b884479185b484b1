-- Notes on days of reports. target_kind: site, link or account; target: its id, and account_id: the id of its account.
-- A user's note has a text. A note that the service wrote has a kind, its facts (JSON), and the cause that created it:
-- there is one note per target, kind and cause. hidden: 1 if the user deleted a note that the service wrote, so that it
-- is not written again.
-- Kept as long as the target, also after a disconnect.
create table notes (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    account_id TEXT not null,
    target_kind TEXT not null,
    target TEXT not null,
    day INT not null,
    text TEXT,
    kind TEXT,
    facts TEXT,
    cause TEXT,
    hidden INT not null default 0,
    created_at INT not null
);
create index notes_target on notes (target, day, created_at, id);
create index notes_user on notes (user_id, created_at, id);
create unique index notes_cause on notes (target, kind, cause) where kind is not null;
