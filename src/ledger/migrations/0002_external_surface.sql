-- An order of the external surface has no procedure request: the procedure that the service made of it is its number there.

-- Which surface a call went to is known before its answer is.
update orders set surface = 'request' where surface is null and (intent = 'request' or request_id is not null);

-- The rule of the first release that an order which is followed has a request; constraints without a name are found by
-- what they say.
do $$
declare
  found name;
begin
  select c.conname into strict found
    from pg_constraint c
   where c.conrelid = 'orders'::regclass
     and c.contype = 'c'
     and pg_get_constraintdef(c.oid) like '%in_progress%request_id IS NOT NULL%';
  execute format('alter table orders drop constraint %I', found);
end
$$;

alter table orders
  -- Requests or procedures that the service made of the order before a person had it done anew.
  add column former_ids bigint[] not null default '{}',
  add constraint orders_followed check (
    state not in ('submitted', 'accepted', 'in_progress')
    or request_id is not null
    or (surface is not distinct from 'external' and procedure_id is not null)),
  add constraint orders_external_has_no_request check (surface is distinct from 'external' or request_id is null),
  add constraint orders_call_has_surface check (intent is distinct from 'request' or surface is not null);

-- Two orders can't adopt one procedure. On the request surface the request is what is adopted.
create unique index orders_external_procedure on orders (procedure_id)
  where surface = 'external' and procedure_id is not null;
