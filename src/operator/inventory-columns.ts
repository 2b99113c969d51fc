import type { Column } from "./column.ts";
import type { Difference, InventoryCounts } from "./inventory.ts";
import { counted } from "./text.ts";

/** A label of which the lab's list and the service's say different things. */
export const DIFFERENCE_COLUMNS: readonly Column<Difference>[] = [
  { key: "finding", title: "finding" },
  { key: "label", title: "label", isFlexible: true },
  { key: "lines", title: "lines of the list", isFlexible: true },
  { key: "containerIds", title: "containers of the service", isFlexible: true },
  { key: "labSays", title: "the lab says", isFlexible: true },
  { key: "serviceSays", title: "the service says", isFlexible: true },
];

/** `2 missing, 0 elsewhere, 1 duplicate, 4 extra`. */
export function findingCounts({ missing, elsewhere, duplicate, extra }: InventoryCounts): string {
  return `${missing} missing, ${elsewhere} elsewhere, ${duplicate} duplicate, ${extra} extra`;
}

/** What has to be known to read the findings: what was compared, and what the service does not show. */
export function inventoryNotes(
  { labels, listed, stored, unnamed, isStorageShown }: InventoryCounts,
  about: {
    readonly lines: number;
    readonly leftOut: number;
    readonly withoutLabel: number;
    readonly areSubjectsKnown: boolean;
  },
): string[] {
  const { lines, leftOut, withoutLabel, areSubjectsKnown } = about;
  return [
    `The list: ${counted(lines, "line")}, ${counted(labels, "label")}. The service: ${counted(listed, "container")} listed, ${stored} of them in storage at the facility.`,
    leftOut > 0 && `--only leaves out ${counted(leftOut, "line")}.`,
    withoutLabel > 0 &&
      `${counted(withoutLabel, "line")} without a label ${withoutLabel === 1 ? "was" : "were"} passed over.`,
    !areSubjectsKnown &&
      "The subjects of the facility can't be read (subjects: none): all containers count as the facility's.",
    areSubjectsKnown &&
      unnamed > 0 &&
      `${counted(unnamed, "container")} of the service ${unnamed === 1 ? "names" : "name"} no subject, and so no facility: they count as the facility's.`,
    !isStorageShown &&
      listed > 0 &&
      "The service does not show when containers were stored (storedAt): all that are listed count as in storage.",
  ].filter((note) => note !== false);
}
