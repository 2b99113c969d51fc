import { makeWorld } from "./drop-world.ts";

/** A connector in a process of its own, which kills itself at its nth step, or says `done` when nothing is left. */
const [, , folder = "", killAt = "0"] = process.argv;
let met = 0;
const world = makeWorld(folder, []);
const connector = world.hl7(
  {},
  {
    steps: () => {
      met += 1;
      if (met === Number(killAt)) process.kill(process.pid, "SIGKILL");
    },
  },
);
await connector.start();
await world.settled();
console.log("done");
