-- Older versions kept the notes and shares of an account whose connect was refused, although they deleted the account.
delete from notes
where account_id not in (select id from accounts) and account_id not in (select id from former_accounts);
delete from shares
where account_id not in (select id from accounts) and account_id not in (select id from former_accounts);
