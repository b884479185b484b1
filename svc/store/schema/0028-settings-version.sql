-- The configuration version that last changed the plan or the retention. Workers need the plan for their write budget, so
-- the Workers of accounts with a paid plan receive a new version.
alter table accounts rename column days_kept_version to settings_version;
update accounts set config_version = config_version + 1, settings_version = config_version + 1 where plan = 'paid';
