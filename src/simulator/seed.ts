import type { SeedContainer } from "./control.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Container } from "./records.ts";
import { notFound } from "./refusal.ts";
import type { State } from "./state.ts";

/** Puts in what is to be there before anyone calls. Throws a Refusal for a container without a subject. */
export function seed(state: State, { subjects, containers }: ResolvedOptions): void {
  for (const subject of subjects) state.addSubject(subject, { mayRepeat: true });
  for (const container of containers) storeContainer(state, container);
}

/** A container that is in storage without a procedure ever having put it there. */
export function storeContainer(state: State, seeded: SeedContainer): Container {
  const subject = state.findSubject(seeded.facilityId, seeded.subjectCode);
  if (!subject) throw notFound("subject");
  const named = { name: seeded.name, description: seeded.description ?? "" };
  const [container] = state.addContainers(subject, [named]);
  const [storage] = state.storages.withKey(String(seeded.facilityId));
  if (!container || !storage) throw notFound("storage solution");
  state.putIntoStorage(container, storage.id);
  return container;
}
