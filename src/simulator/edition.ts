import { type GivenPaths, PUBLIC_PATHS } from "../core/service-catalogue.ts";
import type { BehaviourChange } from "./behaviour.ts";

/** The specification as it is written, or the form in which such a service is described in public. */
export const EDITIONS = ["specification", "public"] as const;
export type Edition = (typeof EDITIONS)[number];

/** What an edition decides where nothing else is said. */
interface EditionParts {
  /** Where it has what the specification has elsewhere, and what it does not have. */
  readonly paths: GivenPaths;
  readonly behaviour: BehaviourChange;
  /** Ways of sending the client's credentials that are taken. */
  readonly tokenMethods: ("basic" | "post")[];
}

export const EDITION_PARTS: Readonly<Record<Edition, EditionParts>> = {
  specification: { paths: {}, behaviour: {}, tokenMethods: ["basic", "post"] },
  public: {
    paths: PUBLIC_PATHS,
    behaviour: {
      listEnvelope: "data",
      externalEnvelope: "data",
      listMeta: true,
      subjects: "nested",
      inventory: "pages",
      errorBody: "nested",
      callsPerMinute: 60,
    },
    tokenMethods: ["post"],
  },
};
