-- How many whole months of breakdowns the Worker's database keeps before the current month. Null: all of them. The
-- column days_kept_version is the configuration version that last changed this number or the number of days.
alter table accounts add column months_kept INT;
