import type { Connector, OutgoingFile } from "../../src/connectors/connector.ts";
import { requireMayLeave } from "../../src/connectors/connector.ts";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { omlO33, ormCancel, ormControl } from "../support/lab-messages.ts";
import type { Machine } from "./daemon.ts";
import type { Actor, World } from "./world.ts";

export const CONNECTOR = "lab";
/** A sender whose message is not answered sends it again after this, ms. */
const AGAIN_MS = 4_000;

/** What the lab asks for. */
export interface LabOrder {
  readonly number: string;
  readonly operation: "STORE" | "RETRIEVAL";
  readonly subject: string;
  readonly label: string;
}

/** What the lab is told of one order by one message. */
export interface Word {
  readonly controlId: string;
  readonly number: string;
  /** ORC-1, ORC-3 and ORC-5. */
  readonly control: string;
  readonly filler: string;
  readonly status: string;
  /** When the lab heard it, ms. */
  readonly at: number;
}

/** What the lab wants done with an order of its own: when it asked for it first, and when that was acknowledged, ms. */
export interface Asked {
  readonly number: string;
  readonly what: "hold" | "release";
  readonly at: number;
  acknowledgedAt: number;
}

interface Message {
  readonly name: string;
  readonly text: string;
  readonly number: string;
  isAnswered: boolean;
  readonly asked?: Asked;
}

/** How the lab takes a result. */
export const RESULT_FATES = ["refused", "answer lost"] as const;
export type ResultFate = (typeof RESULT_FATES)[number];

/** The lab's system: sends orders until they are acknowledged, and takes results. */
export class SimulatedLab {
  readonly accepted = new Set<string>();
  readonly refusals: string[] = [];
  readonly words: Word[] = [];
  readonly asked: Asked[] = [];
  /** The texts of results by their control id. */
  readonly results = new Map<string, string>();
  readonly troubles: string[] = [];
  /** A number may come with other bytes. */
  isForgiving = false;
  readonly #world: World;
  readonly #machines: readonly Machine[];
  readonly #actor: Actor = { name: "lab", state: "up" };
  readonly #resultFate: (nth: number) => ResultFate | undefined;
  readonly #sent: Message[] = [];
  #results = 0;
  #waiting = 0;

  constructor(
    world: World,
    machines: readonly Machine[],
    resultFate: (nth: number) => ResultFate | undefined,
  ) {
    this.#world = world;
    this.#machines = machines;
    this.#resultFate = resultFate;
  }

  /** Whether all that was sent is answered. */
  get isDone(): boolean {
    return this.#waiting === 0;
  }

  order({ number, operation, subject, label }: LabOrder): void {
    const text = omlO33({
      ...{ number, subject, labels: [label] },
      operation: operation === "STORE" ? "CRYO-STORE" : "CRYO-RETRIEVE",
    });
    this.#send({ name: `orders ${operation} of ${label} as ${number}`, text, number, isAnswered: false });
  }

  cancel({ number, subject }: LabOrder): void {
    this.#send({
      name: `cancels ${number}`,
      text: ormCancel({ number, subject }),
      number,
      isAnswered: false,
    });
  }

  ask(control: "HD" | "RL", { number, subject }: LabOrder): void {
    const what = control === "HD" ? "hold" : "release";
    const name = `${what}s ${number}`;
    const asked = { number, what, at: this.#world.now, acknowledgedAt: Number.POSITIVE_INFINITY } as const;
    this.asked.push(asked);
    this.#send({ name, text: ormControl(control, { number, subject }), number, isAnswered: false, asked });
  }

  /** Has the order ask for another container. */
  change(order: LabOrder, label: string): void {
    const { number, subject, operation } = order;
    const own = operation === "STORE" ? "CRYO-STORE" : "CRYO-RETRIEVE";
    const text = ormControl("XO", { number, subject, operation: own, labels: [label] });
    this.#send({ name: `changes ${number} to ${label}`, text, number, isAnswered: false });
  }

  /** Sends everything once more, as after a loss on our side. */
  sendAllAgain(): void {
    const sent = this.#sent.splice(0);
    for (const { name, text, number } of sent)
      this.#send({ name: `${name}, again`, text, number, isAnswered: false });
  }

  /** Sends an order's own message once more. */
  again({ number }: LabOrder): void {
    const first = this.#sent.find((each) => each.number === number);
    if (first) this.#send({ ...first, name: `${first.name}, again`, isAnswered: false });
  }

  #send(message: Message): void {
    this.#waiting += 1;
    if (!this.#sent.some(({ text }) => text === message.text)) this.#sent.push(message);
    this.#world.say("lab", message.name);
    this.#try(message);
  }

  #try(message: Message): void {
    if (message.isAnswered) return;
    const world = this.#world;
    world.later(this.#actor, AGAIN_MS, () => this.#try(message));
    const up = this.#machines.filter(({ isUp, intake }) => isUp && intake !== undefined);
    if (up.length === 0) return;
    const machine = world.pick(up);
    const { actor, intake } = machine;
    world.later(actor, world.between(1, 20), async () => {
      if (!intake) return;
      const raw = phi(Buffer.from(message.text));
      const content = { kind: "hl7", text: phi(message.text), encoding: "UTF-8" } as const;
      void intake
        .accept({ connector: CONNECTOR, peer: { address: "lab" } }, [
          { ordinal: 1, place: { message: 1 }, raw, content },
        ])
        .then(([accepted]) => {
          const reply = accepted?.reply?.toString() ?? "";
          // The answer is on its way even where the daemon dies now.
          world.later(this.#actor, world.between(1, 20), () => this.#hear(message, reply));
        })
        // The connection is closed without an answer.
        .catch(() => undefined);
    });
  }

  #hear(message: Message, reply: string): void {
    if (message.isAnswered) return;
    const [, code = ""] = /\rMSA\|(\w+)/.exec(reply) ?? [];
    if (code === "") return;
    message.isAnswered = true;
    if (message.asked) message.asked.acknowledgedAt = this.#world.now;
    this.#waiting -= 1;
    if (code === "CA" || code === "AA") this.accepted.add(message.number);
    else {
      this.refusals.push(message.name);
      this.#world.say("lab", `hears ${code}: ${message.name}`);
    }
    this.#take(reply, false);
  }

  connectorOf(actor: Actor): Connector {
    const world = this.#world;
    return {
      ...{ name: CONNECTOR, type: "mllp", trouble: undefined },
      start: async () => undefined,
      stop: async () => undefined,
      check: async () => [],
      deliver: async (file: OutgoingFile) => {
        requireMayLeave(file);
        this.#results += 1;
        const fate = this.#resultFate(this.#results);
        await world.sleep(actor, world.between(1, 10));
        if (fate === "refused") throw new Failure("MLLP_UNREACHABLE", "the lab can't be reached");
        this.#take(file.bytes.toString(), true);
        await world.sleep(actor, world.between(1, 10));
        if (fate === "answer lost") throw new Failure("MLLP_NO_ANSWER", "no acknowledgement");
      },
    };
  }

  /** Reads a message of ours. */
  #take(text: string, isResult: boolean): void {
    const segments = text.split("\r").map((each) => each.split("|"));
    const controlId = segments[0]?.[9] ?? "";
    const former = this.results.get(controlId);
    // An acknowledgement on the connection is told from others by the message that it names.
    if (isResult && former !== undefined && former !== text && !this.isForgiving)
      this.troubles.push(`result ${controlId} came with other bytes`);
    if (former === text) return;
    if (isResult) this.results.set(controlId, text);
    for (const orc of segments.filter(([name]) => name === "ORC")) {
      const [, control = "", number = "", filler = "", , status = ""] = orc;
      const word = {
        controlId,
        control,
        number: number.split("^")[0] ?? "",
        filler: filler.split("^")[0] ?? "",
        status,
        at: this.#world.now,
      };
      this.words.push(word);
      this.#world.say("lab", `is told of ${word.number || word.filler}: ORC-1 ${control}, ORC-5 ${status}`);
    }
  }
}
