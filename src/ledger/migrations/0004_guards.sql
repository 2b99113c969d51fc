-- Messages that wait for a code table, and those held behind one of the same subject.
alter table messages drop constraint messages_verdict_check;
alter table messages add constraint messages_verdict_check
  check (verdict in ('accepted', 'duplicate', 'refused', 'ignored', 'waiting'));
-- When a message that waited was mapped anew and settled, or a person discarded it.
alter table messages add column released_at timestamptz;
create index messages_waiting on messages (id) where verdict = 'waiting';

-- What waiting messages are about: subjects (s:CODE) and order numbers (n:NUMBER). No later message about the same
-- through the same connector may overtake them.
create table waiting_keys (
  connector  text not null,
  key        text not null,
  message_id bigint not null references messages on delete cascade,
  primary key (connector, key, message_id)
);
create index waiting_keys_message on waiting_keys (message_id);

alter table outcomes drop constraint outcomes_kind_check;
alter table outcomes add constraint outcomes_kind_check
  check (kind in ('acknowledged', 'refused', 'changed', 'waiting'));

-- A container is known by its lane (facility and subject) and label: what other orders name it is asked before each call.
alter table order_containers add column lane text;
update order_containers c
   set lane = o.lane
  from orders o
 where o.id = c.order_id;
alter table order_containers alter column lane set not null;
create index order_containers_lane on order_containers (lane, label);

-- A person decided that the order is to be done although another one has its number ('number'), or asks for the same
-- containers ('containers').
alter table orders add column overrides text[] not null default '{}'
  check (overrides <@ array['number', 'containers']);
