import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import { hintOf } from "../../../src/core/failures.ts";
import { placeText } from "../../../src/core/place.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvProfile, mapOne } from "../../mapping/mapped.ts";

export const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description\n";

export const row = (number: string, label: string, subject = "P-1") =>
  `${number},STORE,NORTH,${subject},Anna,Muster,1980-01-01,${label},serum\n`;

/** What a file comes to by a profile on top of the built-in one: a line for each message, or why it is refused whole. */
export async function outcomeOf(
  file: string | Buffer,
  definition: ProfileDefinition = {},
): Promise<string[]> {
  const profile = await csvProfile(definition);
  const bytes = Buffer.from(file as string);
  const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });
  const content = await format.examine(bytes);
  const reported = content.problems.map(({ code, place }) => `file refused: ${code} ${placeText(place)}`);
  for await (const batch of content.batches()) {
    for (const message of batch) {
      const { verdict, orders, controlRequests = [], problems } = mapOne(profile, message);
      const words = [
        ...orders.map(
          ({ placerOrderNumber = "", containers }) =>
            `${placerOrderNumber} ${containers.map(({ label }) => label)}`,
        ),
        ...controlRequests.map(({ control, placerOrderNumber = "" }) => `${control} ${placerOrderNumber}`),
        ...new Set(problems.map(({ code }) => code)),
      ];
      reported.push(`${placeText(message.place)} ${verdict}: ${words.join(", ")}`);
    }
  }
  return reported;
}

/** Why a file is refused whole, and what to do about it. */
export async function hintsOf(file: string | Buffer, definition: ProfileDefinition = {}): Promise<string[]> {
  const { reading } = await csvProfile(definition);
  const bytes = Buffer.from(file as string);
  const { problems } = await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes);
  return problems.map((problem) => `${problem.code} ${hintOf(problem)}`);
}
