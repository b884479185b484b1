-- A rollout first updates a few canary accounts, then the others over time. Its accounts no longer belong to waves.
create table rollout_accounts (
    account_id TEXT primary key references accounts (id) on delete cascade,
    -- The newest update. Null: the account is to be updated again.
    operation_id TEXT,
    -- updated, failed, or excused (failed for a reason unrelated to the new Worker). Null: no result yet.
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

-- When the updates of the other accounts began. Null: the canary phase has not ended.
alter table rollouts add column spread_from INT;
update rollouts set spread_from = coalesce(wave_began_at, changed_at) where wave > 0;
update rollouts set reason = 'failures' where reason in ('errors', 'dropped');
alter table rollouts drop column watched;
alter table rollouts drop column wave;
alter table rollouts drop column wave_began_at;
alter table rollouts drop column wave_size;
