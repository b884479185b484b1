-- Alerts are part of email reports. alerts_from: hours from this time on can raise alerts (epoch ms; the end of the
-- last hour that the Worker had pushed when the user turned alerts on). Null: turned off.
alter table mailings add column alerts_from INT;
create index mailings_alerts on mailings (alerts_from) where alerts_from is not null;

-- The state of a site for which alerts are turned on. checked_until: the end of the last checked hour (epoch ms).
-- punctual_from: since then, the Worker has pushed each hour in time. lasting: the kind of the last alert whose
-- condition has not ended: spike, drop or silence. alert_day: the day (epoch day) of the last alert; alerts_sent: the
-- number of alerts on that day. Deleted with the site or the account.
create table alert_states (
    site_id TEXT primary key references sites (id) on delete cascade,
    account_id TEXT not null references accounts (id) on delete cascade,
    checked_until INT not null,
    punctual_from INT not null,
    lasting TEXT,
    alert_day INT not null default 0,
    alerts_sent INT not null default 0
);
create index alert_states_account on alert_states (account_id);
