import { asFailure, Failure } from "../core/failures.ts";
import type { Outcome } from "../core/outcome.ts";
import { phi } from "../core/phi.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import type { ComposedDelivery, Composition, OpenOutcome, UncomposedOutcome } from "../ledger/outcomes.ts";
import type { Profile } from "../mapping/profile.ts";
import { csvResultFile, csvResultRows } from "../mapping/result-csv.ts";
import { composeHl7 } from "../mapping/result-hl7.ts";

/** One HL7 message an outcome. An outcome that none can be made of holds up no other. */
export function composeMessages(open: readonly OpenOutcome[], profile: Profile): Composition {
  const deliveries: ComposedDelivery[] = [];
  const untold: number[] = [];
  const uncomposed: UncomposedOutcome[] = [];
  for (const { id, outcome, original } of open) {
    try {
      const file = composeHl7(withText(outcome, original), profile);
      if (file) deliveries.push({ ...file, outcomeIds: [id] });
      else untold.push(id);
    } catch (error) {
      const { code, message } = asFailure(error);
      uncomposed.push({ outcomeId: id, code, text: message });
    }
  }
  return { deliveries, untold, uncomposed };
}

function withText(outcome: Outcome, original: OpenOutcome["original"]): Outcome {
  if (!original) return outcome;
  try {
    const { text } = decodeHl7(
      original.raw,
      original.encoding === undefined ? {} : { override: original.encoding },
    );
    return { ...outcome, message: { ...outcome.message, text: phi(text) } };
  } catch (error) {
    // A message that was refused because its bytes fit no character set has no text to echo.
    if (error instanceof Failure) return outcome;
    throw error;
  }
}

/**
 * One CSV file for each input file that has news.
 *
 * @param takeNumber the next number of result files for an input file of this name
 */
export async function composeTables(
  open: readonly OpenOutcome[],
  profile: Profile,
  takeNumber: (inputName: string) => Promise<number>,
): Promise<Composition> {
  const byInput = Map.groupBy(open, ({ outcome }) => outcome.message.fileName ?? outcome.message.connector);
  const deliveries: ComposedDelivery[] = [];
  const untold: number[] = [];
  for (const [inputName, outcomes] of byInput) {
    const told = outcomes.map(({ id, outcome }) => ({ id, rows: csvResultRows(outcome, profile) }));
    const rows = told.flatMap((item) => item.rows);
    untold.push(...told.filter((item) => item.rows.length === 0).map((item) => item.id));
    if (rows.length === 0) continue;
    const number = await takeNumber(inputName);
    deliveries.push({
      ...csvResultFile(inputName, number, rows),
      outcomeIds: told.filter((item) => item.rows.length > 0).map((item) => item.id),
    });
  }
  return { deliveries, untold, uncomposed: [] };
}
