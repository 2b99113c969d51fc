import { createRequire } from "node:module";
import { Hl7Message as MedplumMessage } from "@medplum/core";
import { Message as ClientMessage } from "node-hl7-client";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { parsePath } from "../../src/formats/hl7/path.ts";

/** A place in a message, as every engine's own notation can be made of. */
export interface Place {
  readonly segment: string;
  readonly field: number;
  readonly component: number;
}

/** An engine at its work: reads a message, looks at places in it, and writes it again. */
export interface Engine {
  readonly name: string;
  /** Takes all preparation that a program would do once; what it returns is measured. */
  prepare(places: readonly Place[]): (text: string) => { readonly found: number; readonly text: string };
}

interface StandardMessage {
  transform(): void;
  get(path: string): unknown;
  build(): string;
}
const StandardMessage = createRequire(import.meta.url)("hl7-standard") as new (
  text: string,
  options?: { readonly lineEndings: string },
) => StandardMessage;

export const OURS: Engine = {
  name: "cryobridge",
  prepare: (places) => {
    const paths = places.map(({ segment, field, component }) =>
      parsePath(`${segment}-${field}.${component}`),
    );
    return (text) => {
      const message = Hl7Message.parse(text);
      let found = 0;
      for (const path of paths) if (message.get(path) !== undefined) found += 1;
      return { found, text: message.toString() };
    };
  },
};

/** Each engine is asked in the fastest way that its own documentation shows. */
export const PEERS: readonly Engine[] = [
  {
    name: "@medplum/core",
    prepare: (places) => {
      const placesBySegment = Map.groupBy(places, ({ segment }) => segment);
      return (text) => {
        const message = MedplumMessage.parse(text);
        let found = 0;
        for (const [name, inside] of placesBySegment) {
          const segment = message.getSegment(name);
          for (const { field, component } of inside) if (segment?.getComponent(field, component)) found += 1;
        }
        return { found, text: message.toString() };
      };
    },
  },
  {
    name: "node-hl7-client",
    prepare: (places) => {
      const paths = places.map(({ segment, field, component }) => `${segment}.${field}.${component}`);
      return (text) => {
        const message = new ClientMessage({ text });
        let found = 0;
        for (const path of paths) if (message.get(path).toString() !== "") found += 1;
        return { found, text: message.toString() };
      };
    },
  },
  {
    name: "hl7-standard",
    prepare: (places) => {
      const paths = places.map(({ segment, field, component }) => `${segment}.${field}.${component}`);
      return (text) => {
        const message = new StandardMessage(text, { lineEndings: "\r" });
        message.transform();
        let found = 0;
        for (const path of paths) if (message.get(path)) found += 1;
        return { found, text: message.build() };
      };
    },
  },
];
