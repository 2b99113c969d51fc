import { dropText } from "./drop.ts";

/** Drops the `ordinal`th order of the demonstration's own into an HL7 folder; gives its placer order number. */
export async function dropFreshOrder(inbox: string, ordinal: number, now: Date): Promise<string> {
  const number = `DEMO-${ordinal}`;
  const at = now.toISOString().replace(/\D/g, "").slice(0, 14);
  const segments = [
    `MSH|^~\\&|DEMO|NORTH|CRYOBRIDGE|STORE|${at}+0000||OML^O33^OML_O33|${number}-${at}|P|2.5.1||||||UNICODE UTF-8`,
    `PID|1||${number}^^^DEMO^MR||Invented^Ines||19900131|F`,
    `SPM|1|SPEC-${ordinal}||SER^Serum^L`,
    `SAC|||${number}-1`,
    `SAC|||${number}-2`,
    `ORC|NW|${number}^DEMO`,
    `OBR|1|${number}^DEMO||CRYO-STORE^Cryo storage^L`,
  ];
  await dropText(inbox, `${number}.hl7`, segments.map((segment) => `${segment}\r`).join(""));
  return number;
}
