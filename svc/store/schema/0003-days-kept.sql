-- How many days of breakdowns the Worker's database keeps, and the account's configuration version that set the number.
-- Version 0: never changed, so the Worker has no row for the number and keeps its default of 35 days.
alter table accounts add column days_kept INT not null default 35;
alter table accounts add column days_kept_version INT not null default 0;
