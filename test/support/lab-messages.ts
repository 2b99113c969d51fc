/** An order message of an invented lab, with defaults for what a test doesn't care about. */
export interface LabOrder {
  readonly number: string;
  readonly operation?: "CRYO-STORE" | "CRYO-RETRIEVE";
  readonly subject?: string;
  readonly labels?: readonly string[];
  readonly facility?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly birth?: string;
}

/** An OML^O33 message: one specimen with its containers and one order. CR ended. */
export function omlO33(order: LabOrder): string {
  const { number, operation = "CRYO-STORE", subject = `S-${number}`, labels = [`V-${number}`] } = order;
  return [
    `MSH|^~\\&|LIMS|${order.facility ?? "NORTH"}|CRYOBRIDGE|STORE|20260301101500||OML^O33^OML_O33|MSG-${number}|P|2.5.1|||AL|NE||UNICODE UTF-8`,
    `PID|1||${subject}^^^CLINIC^MR||${order.lastName ?? "Example"}^${order.firstName ?? "Ada"}||${order.birth ?? "19900131"}|F`,
    `SPM|1|SPEC-${number}||OOC^Oocyte^L`,
    ...labels.map((label) => `SAC|||${label}`),
    `ORC|NW|${number}^LIMS`,
    `OBR|1|${number}^LIMS||${operation}^Cryo storage^L`,
    "",
  ].join("\r");
}

/** A CSV file with the built-in columns. */
export function labCsv(orders: readonly LabOrder[]): string {
  const header =
    "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description";
  const rows = orders.flatMap((order) =>
    (order.labels ?? [`V-${order.number}`]).map((label) =>
      [
        order.number,
        order.operation === "CRYO-RETRIEVE" ? "RETRIEVAL" : "STORE",
        order.facility ?? "NORTH",
        order.subject ?? `S-${order.number}`,
        order.firstName ?? "Ada",
        order.lastName ?? "Example",
        order.birth ?? "1990-01-31",
        label,
        "vial",
      ].join(","),
    ),
  );
  return `${[header, ...rows].join("\r\n")}\r\n`;
}

/** An ORM^O01 message that cancels an order, by its placer order number or by a filler order number of ours. CR ended. */
export function ormCancel(order: {
  readonly number?: string;
  readonly filler?: string;
  readonly subject?: string;
}): string {
  const { number = "", filler = "", subject = `S-${number}` } = order;
  return [
    `MSH|^~\\&|LIMS|NORTH|CRYOBRIDGE|STORE|20260301111500||ORM^O01|CAN-${number || filler}|P|2.5.1|||AL|NE||UNICODE UTF-8`,
    `PID|1||${subject}^^^CLINIC^MR||Example^Ada||19900131|F`,
    `ORC|CA|${number}^LIMS|${filler === "" ? "" : `${filler}^CRYOBRIDGE`}|GRP-1`,
    "",
  ].join("\r");
}

/** An ORM^O01 message that wants something of an earlier order (ORC-1), with the order's content where that is needed. */
export function ormControl(
  control: string,
  order: Pick<LabOrder, "number" | "operation" | "subject" | "labels">,
): string {
  const { number, operation = "CRYO-STORE", subject = `S-${number}`, labels = [] } = order;
  return [
    `MSH|^~\\&|LIMS|NORTH|CRYOBRIDGE|STORE|20260301121500||ORM^O01|${control}-${number}|P|2.5.1||||||UNICODE UTF-8`,
    `PID|1||${subject}^^^CLINIC^MR||Example^Ada||19900131|F`,
    `ORC|${control}|${number}^LIMS`,
    ...labels.map((label, i) => `OBR|${i + 1}|${number}^LIMS||${operation}|||||||||||OOC^^${label}`),
    "",
  ].join("\r");
}

/** An ADT message about a subject: an update (A08, A31), or a merge of `prior` into it (A40). CR ended. */
export function adt(
  event: "A04" | "A08" | "A28" | "A31" | "A40",
  subject: { readonly code: string; readonly lastName?: string; readonly prior?: string },
): string {
  const { code, lastName = "Example", prior } = subject;
  return [
    `MSH|^~\\&|LIMS|NORTH|CRYOBRIDGE|STORE|20260301131500||ADT^${event}|${event}-${code}|P|2.5.1||||||UNICODE UTF-8`,
    `PID|1||${code}^^^CLINIC^MR||${lastName}^Ada||19900131|F`,
    ...(prior === undefined ? [] : [`MRG|${prior}^^^CLINIC^MR`]),
    "",
  ].join("\r");
}

/** A merge message (ADT A40, or A34 and A18 of 2.3): a pair of PID and MRG for each merge of `prior` into `code`. CR ended. */
export function adtMerges(
  event: "A18" | "A34" | "A40",
  pairs: readonly { readonly code: string; readonly prior: string; readonly lastName?: string }[],
): string {
  const [type, version] = event === "A40" ? ["ADT^A40^ADT_A39", "2.5.1"] : [`ADT^${event}`, "2.3"];
  return [
    `MSH|^~\\&|LIMS|NORTH|CRYOBRIDGE|STORE|20260301141500||${type}|MERGES-${event}|P|${version}`,
    `EVN|${event}|20260301141500`,
    ...pairs.flatMap(({ code, prior, lastName = "Example" }, i) => [
      `PID|${i + 1}||${code}^^^CLINIC^MR||${lastName}^Ada||19900131|F`,
      `MRG|${prior}^^^CLINIC^MR`,
      ...(event === "A34" ? [] : ["PV1|1|O"]),
    ]),
    "",
  ].join("\r");
}
