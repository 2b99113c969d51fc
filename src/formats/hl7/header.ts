import { Failure } from "../../core/failures.ts";
import type { Segment } from "./segment.ts";

/** What MSH says, decoded; undefined where a field is empty. */
export interface Hl7Header {
  /** MSH-3.1 to MSH-6.1. */
  readonly sendingApplication: string | undefined;
  readonly sendingFacility: string | undefined;
  readonly receivingApplication: string | undefined;
  readonly receivingFacility: string | undefined;
  /** MSH-10. */
  readonly messageControlId: string | undefined;
  /** MSH-9.1 such as `ORM`, MSH-9.2 such as `O01`, MSH-9.3 such as `OML_O21` (absent before 2.4). */
  readonly messageCode: string | undefined;
  readonly triggerEvent: string | undefined;
  readonly structure?: string | undefined;
  /** MSH-11.1: P production, T training, D debugging. */
  readonly processingId: string | undefined;
  /** MSH-12.1. */
  readonly version: string | undefined;
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

/** Reads MSH. */
export function readHeader(msh: Segment | undefined): Hl7Header {
  if (msh === undefined) throw new Failure("HL7_NO_MSH", "the message is empty");
  const parts = (n: number) => [1, 2, 3].map((component) => msh.get(n, 1, component));
  return {
    sendingApplication: msh.get(3),
    sendingFacility: msh.get(4),
    receivingApplication: msh.get(5),
    receivingFacility: msh.get(6),
    messageControlId: msh.get(10),
    messageCode: msh.get(9),
    triggerEvent: msh.get(9, 1, 2),
    structure: msh.get(9, 1, 3),
    processingId: msh.get(11),
    version: msh.get(12),
    characterSet: msh.get(18),
    dateTime: msh.get(7),
    acceptAckType: msh.get(15),
    applicationAckType: msh.get(16),
    sendingApplicationParts: parts(3),
    sendingFacilityParts: parts(4),
    receivingApplicationParts: parts(5),
    receivingFacilityParts: parts(6),
  };
}
