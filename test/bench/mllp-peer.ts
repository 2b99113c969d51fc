/** A program: @medplum/hl7's server, which acknowledges each message and keeps none. Prints its port once it listens. */
import { type Hl7MessageEvent, Hl7Server } from "@medplum/hl7";

const server = new Hl7Server((connection) => {
  connection.addEventListener("message", (event: Hl7MessageEvent) => {
    connection.send(event.message.buildAck());
  });
});
await server.start(0);
const address = server.server?.address();
process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
