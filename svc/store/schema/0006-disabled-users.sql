-- The time when the operator disabled the user; null: the user is enabled.
alter table users add column disabled_at INT;
