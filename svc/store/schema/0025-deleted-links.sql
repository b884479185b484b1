-- When the user deleted the link (epoch ms). Null: the link is not deleted, was deleted with its account, or was
-- deleted by a version that did not record the time.
alter table links add column deleted_at INT;
