-- A service may forget what was cancelled, so that its answer to a look is that there is no such request.
alter table wishes
  -- Since when every look was answered so.
  add column gone_since timestamptz,
  -- Calls before the last one whose answer never came: one of them may yet have worked.
  add column unanswered integer not null default 0;

-- Looks for a lost call that failed, in a row. They are no attempts: what is tried after them has failed no more often.
alter table orders add column failed_looks integer not null default 0;

-- What is told of an order waits behind a result of it that is parked.
create index deliveries_parked on deliveries (connector, id) where state = 'parked';

-- And one that the lab answered with an error lets those of other orders go on until it is due again.
create index deliveries_refused on deliveries (connector, id) where state = 'pending' and error_answers > 0;

-- It has the ids of all connectors in one order, and was mistaken for the way to those of one of them. The indexes of what
-- is pending and of what is parked serve in its place.
drop index deliveries_open;
