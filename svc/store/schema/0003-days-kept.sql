-- How many days of breakdowns the worker's database keeps, and the account's configuration version that set it.
-- Version 0: never changed, so the worker has no row of it and keeps its default of 35 days.
alter table accounts add column days_kept INT not null default 35;
alter table accounts add column days_kept_version INT not null default 0;
