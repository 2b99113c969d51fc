-- A person decided that an order is to be done although an order of another subject has one of its labels ('label').
alter table orders drop constraint orders_overrides_check;
alter table orders add constraint orders_overrides_check
  check (overrides <@ array['number', 'containers', 'label', 'restored']);

-- Which identifiers were merged, and into which.
create index orders_merged on orders (prior_subject_code) where operation = 'MERGE';
create index orders_merged_into on orders (subject_code) where operation = 'MERGE';
