-- Email reports about a site, or about all sites of an account. target_kind: site or account; target: its id.
-- weekly_day, monthly_day: the day (epoch day) on which the next report is due, a Monday or the first of a month. Null:
-- turned off. weekly_sent, monthly_sent: the day on which the last report was due. Null: none was sent. minute: how
-- many minutes after midnight UTC the reports are due, so that all reports are spread over an hour. Deleted with the
-- site or the account.
create table mailings (
    target TEXT primary key,
    target_kind TEXT not null,
    user_id INT not null references users (id) on delete cascade,
    account_id TEXT not null references accounts (id) on delete cascade,
    weekly_day INT,
    monthly_day INT,
    weekly_sent INT,
    monthly_sent INT,
    minute INT not null,
    created_at INT not null
);
create index mailings_user on mailings (user_id, created_at, target);
create index mailings_account on mailings (account_id);
create index mailings_weekly on mailings (weekly_day) where weekly_day is not null;
create index mailings_monthly on mailings (monthly_day) where monthly_day is not null;

-- state: unconfirmed, confirmed or unsubscribed. listed is 0 if the user has removed an address that had unsubscribed:
-- the row is kept, so that the user cannot subscribe the address again. asked_at: when the last confirmation email was
-- queued; null: none was.
create table mailing_recipients (
    id TEXT primary key,
    mailing TEXT not null references mailings (target) on delete cascade,
    email TEXT not null,
    language TEXT not null,
    state TEXT not null,
    listed INT not null default 1,
    position INT not null,
    asked_at INT,
    created_at INT not null
);
create unique index mailing_recipients_email on mailing_recipients (mailing, lower(email));

-- The tokens of the links in emails to recipients. Each attempt to send an email has a separate token.
create table mailing_tokens (
    digest TEXT primary key,
    recipient_id TEXT not null references mailing_recipients (id) on delete cascade,
    created_at INT not null
);
create index mailing_tokens_recipient on mailing_tokens (recipient_id);
create index mailing_tokens_age on mailing_tokens (created_at);

-- When each address (in lower case) was last asked to confirm, and by which user. Kept for a day, to limit the
-- number of confirmation emails.
create table mailing_requests (
    address TEXT primary key,
    user_id INT not null references users (id) on delete cascade,
    asked_at INT not null
);
create index mailing_requests_user on mailing_requests (user_id, asked_at);
create index mailing_requests_age on mailing_requests (asked_at);

-- Addresses (in lower case) that declined a user's request to confirm. The user cannot ask them again.
create table mailing_refusals (
    user_id INT not null references users (id) on delete cascade,
    address TEXT not null,
    primary key (user_id, address)
);

-- Reports are sent after the emails that users are waiting for.
drop index outbox_asked;
create index outbox_asked on outbox (due_at) where account_id is null and kind <> 'report';
create index outbox_reports on outbox (due_at) where kind = 'report';
