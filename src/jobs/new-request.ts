import type { LedgerOrder } from "../ledger/order-row.ts";
import type { NewRequest } from "../service/correlation.ts";
import type { SubmitSettings } from "./submit-deps.ts";

/** The procedure request that an order becomes. The same order gives the same request, its mark included. */
export function toNewRequest(
  order: LedgerOrder,
  containerIds: readonly number[],
  deps: { readonly settings: Pick<SubmitSettings, "correlation"> },
): NewRequest {
  const common = { facilityId: order.facilityId, subjectCode: order.subject.code };
  if (order.operation === "RETRIEVAL") return { ...common, type: "RETRIEVAL", containerIds };
  const ref = deps.settings.correlation === "token" ? order.mark : undefined;
  const containers = order.containers.map(({ label, description }) => ({ label, description }));
  return { ...common, type: "STORE", containers, ref };
}
