import type { Segment } from "./segment.ts";

/** What of MSH says how a message is to be read and told from others, decoded; undefined where a field is empty. */
export interface HeaderCodes {
  /** MSH-10. */
  readonly messageControlId: string | undefined;
  /** MSH-9.1 such as `ORM`, MSH-9.2 such as `O01`, MSH-9.3 such as `OML_O21` (absent before 2.4). */
  readonly messageCode: string | undefined;
  readonly triggerEvent: string | undefined;
  readonly structure?: string | undefined;
  /** MSH-11.1: P production, T training, D debugging. */
  readonly processingId: string | undefined;
  /** MSH-11.2 (table 0207): A archive, R restore from archive, I initial load; empty or T for current processing. */
  readonly processingMode?: string | undefined;
  /** MSH-12.1. */
  readonly version: string | undefined;
  /** MSH-3.1 and MSH-4.1. */
  readonly sendingApplication: string | undefined;
  readonly sendingFacility: string | undefined;
}

/** What MSH says, decoded; undefined where a field is empty. */
export interface Hl7Header extends HeaderCodes {
  /** MSH-5.1 and MSH-6.1. */
  readonly receivingApplication: string | undefined;
  readonly receivingFacility: string | undefined;
  /** MSH-18, its first repetition. */
  readonly characterSet?: string | undefined;
  /** MSH-7.1, as written. */
  readonly dateTime?: string | undefined;
  /** MSH-15 and MSH-16. */
  readonly acceptAckType?: string | undefined;
  readonly applicationAckType?: string | undefined;
  /** All components of MSH-3 to MSH-6 (HD: namespace, universal id, its type), for replies that must echo them whole. */
  readonly sendingApplicationParts?: readonly (string | undefined)[];
  readonly sendingFacilityParts?: readonly (string | undefined)[];
  readonly receivingApplicationParts?: readonly (string | undefined)[];
  readonly receivingFacilityParts?: readonly (string | undefined)[];
}

/** Reads the codes of MSH. */
export function readHeaderCodes(msh: Segment): HeaderCodes {
  // In the order in which they stand, so that MSH is gone through once.
  const sendingApplication = msh.get(3);
  const sendingFacility = msh.get(4);
  const messageCode = msh.get(9);
  const triggerEvent = msh.get(9, 1, 2);
  const structure = msh.get(9, 1, 3);
  return {
    messageControlId: msh.get(10),
    messageCode,
    triggerEvent,
    structure,
    processingId: msh.get(11),
    processingMode: msh.get(11, 1, 2),
    version: msh.get(12),
    sendingApplication,
    sendingFacility,
  };
}

/** Reads MSH. */
export function readHeader(msh: Segment, codes: HeaderCodes): Hl7Header {
  const parts = (n: number) => [msh.get(n), msh.get(n, 1, 2), msh.get(n, 1, 3)];
  const sendingApplicationParts = parts(3);
  const sendingFacilityParts = parts(4);
  const receivingApplicationParts = parts(5);
  const receivingFacilityParts = parts(6);
  return {
    ...codes,
    receivingApplication: receivingApplicationParts[0],
    receivingFacility: receivingFacilityParts[0],
    characterSet: msh.get(18),
    dateTime: msh.get(7),
    acceptAckType: msh.get(15),
    applicationAckType: msh.get(16),
    sendingApplicationParts,
    sendingFacilityParts,
    receivingApplicationParts,
    receivingFacilityParts,
  };
}
