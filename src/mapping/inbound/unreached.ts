import type { Place } from "../../core/place.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import type { ContainerKind } from "../profile/schema.ts";
import { isBeside } from "./beside-hl7.ts";

/** Segments that stand before the orders of a message. */
const PATIENT_SEGMENTS = [
  "MSH",
  "SFT",
  "UAC",
  "PID",
  "PD1",
  "ARV",
  "NK1",
  "PV1",
  "PV2",
  "IN1",
  "IN2",
  "IN3",
  "GT1",
  "AL1",
];

/** A value of containers that is only looked for where none is read. */
interface UnreachedValue {
  /** `containers.label`. */
  readonly name: string;
  readonly places: Place;
}

/**
 * The values of containers that a profile reads from segments alone which neither stand for a container nor around one; or for a
 * description beside one: below an order these are never read.
 */
export function findUnreached({
  rules,
  containers: { each },
}: Pick<Hl7Profile, "rules" | "containers">): UnreachedValue[] {
  const around = new Set(["ORC", "OBR", ...PATIENT_SEGMENTS]);
  if (each.some(({ segment }) => segment === "SAC")) around.add("SPM");
  const isRead = (path: FieldPath) =>
    around.has(path.segment) || each.some((kind) => kind.segment === path.segment && mayBeBoth(path, kind));
  return [rules.containers.label, rules.containers.description].flatMap((rule) => {
    const { name = "", sources, places, fallback } = rule;
    const isReached =
      fallback !== undefined ||
      sources.some(
        (source) =>
          source.kind === "constant" ||
          isRead(source.path) ||
          (rule === rules.containers.description && isBeside(source.path, each)),
      );
    return isReached || sources.length === 0 ? [] : [{ name, places }];
  });
}

/** Whether one segment can fulfil what a path wants of it and be a container; an OBX-3.1 is not both VOL and TUBE. */
function mayBeBoth({ whichSegment }: FieldPath, { which }: ContainerKind): boolean {
  if (whichSegment?.kind !== "where" || which?.kind !== "where") return true;
  return whichSegment.conditions.every((one) =>
    which.conditions.every((other) => {
      const isSamePlace = placeOf(one.at) === placeOf(other.at);
      return !isSamePlace || one.operator !== "=" || other.operator !== "=" || one.value === other.value;
    }),
  );
}

/** `3` and `3.1` are one place. */
function placeOf([field, component = 1, subcomponent = 1]: readonly number[]): string {
  return `${field}.${component}.${subcomponent}`;
}
