-- Refills are followed and shown; labs are sent nothing about them. What a refill went through is no longer kept step by
-- step, and how far its facility's list was read is known by the process that reads it.
drop table refill_events;
alter table refills add column flagged text[] not null default '{}';
alter table refill_subscriptions
  drop column first_read_at,
  drop column last_read_at,
  drop column full_read_at,
  drop column hints;
