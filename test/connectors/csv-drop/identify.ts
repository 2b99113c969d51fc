import type { CsvReading } from "../../../src/connectors/csv-drop/reading.ts";
import type { RowIdentity } from "../../../src/core/intake.ts";

/** A reading whose order numbers stand in one column; a subject may stand in `subject`, a wish in `operation`. */
export function identifyBy(column: string): Required<Pick<CsvReading, "identify" | "numberColumns">> {
  const identify = (values: ReadonlyMap<string, string>): RowIdentity => {
    const operation = values.get("operation") ?? "STORE";
    return {
      orderNumber: (values.get(column) ?? "").trim(),
      needsNumber: operation !== "REGISTER",
      subjectCode: values.get("subject") ?? "",
      isWish: operation === "CANCEL",
      hasOperation: ["STORE", "RETRIEVAL", "REGISTER", "CANCEL"].includes(operation),
    };
  };
  return { identify, numberColumns: [column] };
}
