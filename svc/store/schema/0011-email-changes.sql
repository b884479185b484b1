-- Requests of users to change their email address. confirmed_at is null until the link in the email to the new address
-- is used. Each user has at most one unconfirmed request. Until revert_until, the link in the email to the old address
-- restores the old address. session_id: the session that requested the change. Kept until revert_until.
create table email_changes (
    id TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    old_email TEXT not null,
    new_email TEXT not null,
    session_id TEXT not null,
    created_at INT not null,
    expires_at INT not null,
    revert_until INT not null,
    confirmed_at INT
);
create index email_changes_user on email_changes (user_id);
create index email_changes_new on email_changes (lower(new_email));
create index email_changes_expiry on email_changes (revert_until);

-- The tokens in the links. purpose: confirm or revert. Each attempt to send an email has a separate token.
create table email_change_tokens (
    digest TEXT primary key,
    change_id TEXT not null references email_changes (id) on delete cascade,
    purpose TEXT not null
);
create index email_change_tokens_change on email_change_tokens (change_id);
