import type { RefillFile, ToldRefill } from "../core/refill.ts";
import type { CsvValue } from "../formats/csv/encode.ts";
import { type CsvWriting, encodeTable, spellValues } from "./csv-charset.ts";

/** The columns of a file of refills, in their order. */
export const refillColumns = [
  "facility",
  "storage",
  "storage_id",
  "procedure_id",
  "procedure_code",
  "status",
  "created_at",
  "completed_at",
  "error",
] as const;

/**
 * `refills-<number>.csv`, a row for each step. `storage` and `storage_id` are empty where the service doesn't
 * tell the tank. Values that a spreadsheet would run as a formula are made harmless. Characters that the
 * file's character set doesn't have are spelled: tanks and procedures have their ids beside their names.
 */
export function refillCsv(
  told: readonly ToldRefill[],
  number: number,
  settings: CsvWriting = {},
): RefillFile {
  const rows = told.map(({ facilityCode, refill }): CsvValue[] => [
    facilityCode,
    refill.storageName,
    refill.storageId,
    refill.id,
    refill.code,
    refill.status,
    refill.createdAt,
    refill.completedAt,
    refill.error,
  ]);
  return {
    fileName: `refills-${number}.csv`,
    bytes: encodeTable(
      refillColumns,
      rows.map((row) => spellValues(row, settings)),
      settings,
    ),
    numbers: told.map((each) => each.number),
  };
}
