-- Orders are handed to the submit queue in batches: a job names its batch, and claims what of it still waits.
create sequence batches;

alter table orders
  drop column version,
  add column batch bigint;

-- What a job claims, and what of a lost job is put back.
create index orders_batch on orders (batch) where state in ('queued', 'submitting');

-- Whether a subject was registered a moment ago, so that the service's list may not show it yet.
create index order_events_registered on order_events (order_id) where kind = 'subject_registered';
