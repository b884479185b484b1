-- A rollout updates a few accounts first and the others in turns. Its accounts no longer belong to waves.
create table rollout_accounts (
    account_id TEXT primary key references accounts (id) on delete cascade,
    -- The newest update. Null: the account is to be updated again.
    operation_id TEXT,
    -- updated, failed, or excused: the update failed for a reason that says nothing about the worker. Null: no result yet.
    outcome TEXT,
    -- The error code of an update that failed or was excused.
    code TEXT,
    -- When the outcome was reached.
    ended_at INT not null default 0,
    -- The number of updates that failed.
    failures INT not null default 0
);
insert into rollout_accounts (account_id, operation_id)
    select account_id, operation_id from wave_accounts where operation_id is not null;
drop table wave_accounts;

-- When the updates of the accounts after the first ones began. Null: the first accounts are still being tried.
alter table rollouts add column spread_from INT;
update rollouts set spread_from = coalesce(wave_began_at, changed_at) where wave > 0;
update rollouts set reason = 'failures' where reason in ('errors', 'dropped');
alter table rollouts drop column watched;
alter table rollouts drop column wave;
alter table rollouts drop column wave_began_at;
alter table rollouts drop column wave_size;
