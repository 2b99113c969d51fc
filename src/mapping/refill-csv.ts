import type { RefillFile, ToldRefill } from "../core/refill.ts";
import { encodeCsv } from "../formats/csv/encode.ts";

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
 * `refills-<number>.csv`, a row for each step, in UTF-8. `storage` and `storage_id` are empty where the service doesn't
 * tell the tank. Values that a spreadsheet would run as a formula are made harmless.
 */
export function refillCsv(told: readonly ToldRefill[], number: number): RefillFile {
  const rows = told.map(({ facilityCode, refill }) => [
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
    bytes: Buffer.from(encodeCsv(refillColumns, rows), "utf8"),
    numbers: told.map((each) => each.number),
  };
}
