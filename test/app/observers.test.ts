import { expect, test } from "vitest";
import { type DaemonObserver, report } from "../../src/app/context.ts";
import { logSink } from "../service/with-client.ts";

test("an observer that fails is logged, and keeps neither the others nor what it hears of from going on", () => {
  const heard: string[] = [];
  const observer = (messagesCommitted: DaemonObserver["messagesCommitted"]): DaemonObserver => ({
    ...{ ordersMoved: () => {}, resultsSent: () => {}, serviceCalled: () => {}, messagesTaken: () => {} },
    ...{ jobFinished: () => {}, messagesCommitted },
  });
  const failing = observer(() => {
    throw new RangeError("no such label");
  });
  const { logger, text } = logSink();
  const observers = new Set([failing, observer((connector) => heard.push(connector))]);
  report({ observers, logger }, (each) => each.messagesCommitted("lims", []));
  expect(heard).toEqual(["lims"]);
  expect(text()).toContain("no such label");
});
