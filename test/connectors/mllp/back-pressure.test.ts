import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BackPressure } from "../../../src/connectors/mllp/limits.ts";

describe("back-pressure", () => {
  test("is on from its bound until less is in hand", () => {
    const pressure = new BackPressure(100);
    pressure.add(99);
    expect(pressure.isOn).toBe(false);
    pressure.add(1);
    expect(pressure.isOn).toBe(true);
    pressure.remove(99);
    expect(pressure.isOn).toBe(false);
  });

  test("calls each that waits once, in their order, when there is room", () => {
    const pressure = new BackPressure(100);
    const reported: string[] = [];
    pressure.add(150);
    pressure.whenOff(() => reported.push("first"));
    pressure.whenOff(() => reported.push("second"));
    pressure.remove(50);
    expect(reported).toEqual([]);
    pressure.remove(10);
    pressure.remove(90);
    expect(reported).toEqual(["first", "second"]);
  });

  test("keeps waiting those for whom those before them left no room", () => {
    const pressure = new BackPressure(100);
    const reported: string[] = [];
    pressure.add(100);
    pressure.whenOff(() => {
      reported.push("first");
      pressure.add(100);
    });
    pressure.whenOff(() => reported.push("second"));
    pressure.remove(100);
    expect(reported).toEqual(["first"]);
    pressure.remove(100);
    expect(reported).toEqual(["first", "second"]);
  });

  test("never holds back more than one message beyond its bound, nor anybody for good", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(sizes, { minLength: 1, maxLength: 8 }), (connections) => {
        const pressure = new BackPressure(100);
        const inHand: number[] = [];
        let most = 0;
        const read = (messages: number[]) => {
          while (messages.length > 0) {
            if (pressure.isOn) return pressure.whenOff(() => read(messages));
            const bytes = messages.shift() ?? 0;
            inHand.push(bytes);
            pressure.add(bytes);
            most = Math.max(
              most,
              inHand.reduce((sum, each) => sum + each, 0),
            );
          }
        };
        for (const messages of connections) read([...messages]);
        let done = 0;
        for (let bytes = inHand.shift(); bytes !== undefined; bytes = inHand.shift()) {
          done += 1;
          pressure.remove(bytes);
        }
        expect(done).toBe(connections.flat().length);
        expect(most).toBeLessThan(100 + 60);
      }),
    );
  });
});
