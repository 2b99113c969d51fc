-- An order whose number another order has: the lab is never told a status of that number because of it.
alter table orders
  add column shares_number boolean not null default false;
