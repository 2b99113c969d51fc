import type { Simulator } from "../../simulator/simulator.ts";

/** Its first request is rejected: the sample says that a consent form is missing. */
const WITHOUT_CONSENT = "SR-6002";
/** Its first procedure fails, so that a retry succeeds. */
const WITHOUT_TAG = "B-0007";
const REASON = "RFID tag could not be read";

/** Both come before automatic staff and devices would act, which take at least twice as long. In simulated ms. */
const REJECT_AFTER_MS = 15_000;
const FAIL_AFTER_MS = 30_000;

/** Plays staff and device for two of the sample orders; automatic ones do all the others. */
export function playStaff({ control }: Pick<Simulator, "control">): void {
  const played = new Set<string>();
  const isFirst = (subjectCode: string | undefined, wanted: string) => {
    if (subjectCode !== wanted || played.has(wanted)) return false;
    played.add(wanted);
    return true;
  };
  const later = (simulatedMs: number, act: () => void) => {
    setTimeout(act, simulatedMs / control.settings().speed).unref();
  };
  control.subscribe(({ kind, id, status }) => {
    if (kind === "request" && status === "PENDING") {
      if (!isFirst(control.findRequest(id)?.subjectCode, WITHOUT_CONSENT)) return;
      // Somebody may have acted on the simulator's page meanwhile.
      later(REJECT_AFTER_MS, () => {
        if (control.findRequest(id)?.status === "PENDING") control.rejectRequest(id);
      });
    } else if (kind === "procedure" && status === "IN_PROGRESS") {
      if (!isFirst(control.findProcedure(id)?.subjectCode, WITHOUT_TAG)) return;
      later(FAIL_AFTER_MS, () => {
        if (control.findProcedure(id)?.status === "IN_PROGRESS") control.failProcedure(id, REASON);
      });
    }
  });
}
