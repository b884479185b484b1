-- When the user deleted the link (epoch ms). Null: the link is not deleted, it was deleted with its account, or a version
-- that did not record the time deleted it.
alter table links add column deleted_at INT;
