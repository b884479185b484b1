-- Invitations to sign up, at most one for each address: a new invitation replaces an earlier one. Deleted when the
-- invitation is used, when the address gets a user, and after the invitation has expired.
create table invitations (
    id TEXT primary key,
    email TEXT not null,
    created_at INT not null,
    expires_at INT not null
);
create unique index invitations_email on invitations (lower(email));
create index invitations_expiry on invitations (expires_at);

-- The tokens in the links to an invitation. Each attempt to send the email has a separate token, because an earlier
-- copy may have arrived.
create table invitation_tokens (
    digest TEXT primary key,
    invitation_id TEXT not null references invitations (id) on delete cascade
);
create index invitation_tokens_invitation on invitation_tokens (invitation_id);
