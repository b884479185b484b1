-- The language of emails to the user: en or de. Null: not chosen.
alter table users add column language TEXT;
-- The language of the request that caused the email, for recipients who have not chosen one. Null: no request.
alter table outbox add column language TEXT;
