-- Before a call that creates something is repeated, the service is looked at, whatever the answer to it said.
alter table orders
  -- When the first call to create what the order asks for left, and what was there before it (known_request_ids): both stay
  -- until the order asks for something else.
  add column called_at timestamptz,
  -- The latest call was answered with a refusal that says nothing was done: one empty look is enough to send it again.
  add column is_refused boolean not null default false;
update orders set called_at = intent_at where intent = 'request';
