-- Who assigned an order number, as far as its message told: {namespaceId, universalId, universalIdType}. Null for what told
-- nothing, and for what came before this was kept: that counts as the same as any.
alter table orders add column placer_authority jsonb;
alter table wishes add column placer_authority jsonb;

-- The orders that a fact is about where those are several; where it is one, outcomes.order_id names it. What the lab is told
-- of an order goes out in its order.
create table outcome_orders (
  outcome_id bigint not null references outcomes on delete cascade,
  order_id   bigint not null references orders on delete cascade,
  primary key (outcome_id, order_id)
);
create index outcome_orders_order on outcome_orders (order_id);

-- What the lab doesn't have yet is brought into its order, too. An answer is about the orders that it tells of, an
-- acknowledgement without any about those that the message's wishes name.
with untold as (
  select t.id, t.message_id, t.kind, t.payload
    from outcomes t
   where not t.is_composed
     and t.order_id is null
   union all
  select t.id, t.message_id, t.kind, t.payload
    from deliveries d
    join outcomes t on t.delivery_id = d.id
   where d.state in ('pending', 'parked')
     and t.is_composed
     and t.order_id is null),
named as (
  select u.id, (substr(x.told ->> 'orderId', 2))::bigint as order_id
    from untold u
   cross join lateral jsonb_array_elements(coalesce(u.payload -> 'orders', '[]')) as x(told)
   where u.kind = 'acknowledged'
   union
  select u.id, (substr(x.answer -> 'order' ->> 'orderId', 2))::bigint
    from untold u
   cross join lateral jsonb_array_elements(coalesce(u.payload -> 'answers', '[]')) as x(answer)
   where u.kind = 'wishes'
     and x.answer -> 'order' ->> 'orderId' is not null
   union
  select u.id, w.order_id
    from untold u
    join messages m on m.id = u.message_id
    join wishes w on w.message_id = coalesce(m.duplicate_of, m.id)
   where u.kind = 'acknowledged'
     and jsonb_array_length(coalesce(u.payload -> 'orders', '[]')) = 0)
insert into outcome_orders (outcome_id, order_id)
select n.id, o.id
  from named n
  join orders o on o.id = n.order_id;
