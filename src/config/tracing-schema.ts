import { z } from "zod";
import { httpUrl, secret } from "./scalars.ts";

/** The section `tracing`: where traces of orders go. */
export const tracingSchema = z.strictObject({
  endpoint: httpUrl(
    "Where OpenTelemetry spans are posted to by OTLP over HTTP, with the path: http://collector:4318/v1/traces.",
  ),
  headers: z
    .record(z.string().regex(/^[\w-]+$/, "expected the name of a header"), secret("Its value."))
    .default({})
    .describe(`Headers of each request, such as authorization; write what is secret as \${NAME}.`),
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe("Of how many orders traces are made: 0.1 for one in ten, whole ones."),
  serviceName: z.string().min(1).max(100).default("cryobridge").describe("The service.name of the spans."),
});
