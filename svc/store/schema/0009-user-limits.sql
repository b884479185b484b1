-- Limits that the operator has set for individual users. Null: the service's limit.
create table user_limits (
    user_id INT primary key references users (id) on delete cascade,
    accounts INT,
    sites INT,
    links INT,
    keys INT
);

-- 1: the operator began the deletion, so its result is stored until the operator's command has read it.
alter table departures add column by_operator INT not null default 0;

-- Results of deletions that the operator began. `digest` is the departure's access digest. Kept for a day.
create table deletion_results (
    digest TEXT primary key,
    ended_at INT not null,
    facts TEXT not null
);
create index deletion_results_age on deletion_results (ended_at);
