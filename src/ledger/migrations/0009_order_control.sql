-- What a message can want of an order that came before: to cancel it, and now also to hold, release, change or replace
-- it, or to be told how it stands.
alter table cancellations rename to wishes;
alter index cancellations_open rename to wishes_open;
alter index cancellations_order rename to wishes_order;
alter table wishes
  add column control text not null default 'cancel'
    check (control in ('cancel', 'discontinue', 'hold', 'release', 'change', 'replace', 'status')),
  -- What the order is to ask for; forgotten once the wish is decided.
  add column content jsonb,
  add constraint wishes_content check (
    content is null or (control in ('change', 'replace') and decided_at is null));
alter table wishes alter column control drop default;

-- Their answers are facts of one kind.
alter table outcomes drop constraint outcomes_kind_check;
update outcomes set kind = 'wishes' where kind = 'cancellation';
update outcomes
   set payload = jsonb_set(payload, '{answers}',
                           (select jsonb_agg(a || '{"control": "cancel"}') from jsonb_array_elements(payload -> 'answers') as a))
 where kind = 'wishes';
alter table outcomes add constraint outcomes_kind_check
  check (kind in ('acknowledged', 'refused', 'changed', 'waiting', 'wishes'));

alter table tasks drop constraint tasks_kind_check;
alter table tasks add constraint tasks_kind_check
  check (kind in ('cancel', 'hold', 'release', 'change', 'update', 'merge'));

alter table orders
  -- Since when the lab has it on hold; it waits meanwhile, whatever its state.
  add column held_at timestamptz,
  -- MERGE: the identifier that goes.
  add column prior_subject_code text,
  drop constraint orders_operation_check,
  -- UPDATE and MERGE are news about a subject, which has no containers.
  add constraint orders_operation_check check (operation in ('STORE', 'RETRIEVAL', 'REGISTER', 'UPDATE', 'MERGE')),
  add constraint orders_merge_has_prior check ((operation = 'MERGE') = (prior_subject_code is not null)),
  add constraint orders_held check (
    held_at is null or state not in ('queued', 'submitting', 'submitted', 'accepted', 'in_progress'));
