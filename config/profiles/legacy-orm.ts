// What the profile legacy-orm.yaml can't say. `order` runs once for each order; it may change it, split it by returning
// several, or refuse it by throwing an Error. The lab reads that message, so it must not hold a patient's values.

interface SiteOrder {
  operation?: string;
  placerOrderNumber?: string;
  containers: { label?: string; description?: string }[];
}

interface SiteMessage {
  /** One value in hl7-standard's notation: segment, repetition and subcomponent count from 0. */
  get(path: string, segment?: number, repetition?: number, subcomponent?: number): string | null;
}

/** Retrievals need a release number from the ward, which this system puts in the first NTE. */
export function order(order: SiteOrder, message: SiteMessage): SiteOrder {
  if (order.operation === "RETRIEVAL" && !/^REL-\d+/.test(message.get("NTE.3.1") ?? "")) {
    throw new Error("NTE-3 holds no release number such as REL-123");
  }
  const priority = message.get("OBR.27.6");
  if (priority === "S") {
    for (const container of order.containers)
      container.description = `URGENT ${container.description ?? ""}`.trim();
  }
  return order;
}
