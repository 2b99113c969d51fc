import type { RowIdentity } from "../../../src/core/intake.ts";
import type { CsvReading } from "../../../src/formats/csv/dialect.ts";

/** A reading whose order numbers stand in one column; a subject may stand in `subject`, the operation in `operation`. */
export function readingBy(column: string, more: Partial<CsvReading> = {}): CsvReading {
  const identify = (values: ReadonlyMap<string, string>): RowIdentity => {
    const operation = values.get("operation") ?? "STORE";
    const orderNumber = (values.get(column) ?? "").trim();
    const hasOperation = ["STORE", "RETRIEVAL", "REGISTER", "CANCEL"].includes(operation);
    return {
      orderNumber,
      needsNumber: operation !== "REGISTER",
      subjectCode: values.get("subject") ?? "",
      isControl: operation === "CANCEL",
      hasOperation,
      isOrder: hasOperation && values.has("operation") && orderNumber !== "",
    };
  };
  return {
    delimiter: "auto",
    quote: '"',
    header: true,
    encoding: "auto",
    identify,
    numberColumns: [column],
    operationColumns: [],
    wholeFile: false,
    requiredColumns: [],
    optionalColumns: [],
    wholeColumns: [],
    lastLineEnd: "required",
    ...more,
  };
}
