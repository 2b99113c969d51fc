import { serviceSchema } from "../../src/config/service-schema.ts";
import type { ServiceAuth, ServiceSettings } from "../../src/service/settings.ts";

const {
  auth: _,
  externalAuth: __,
  ca: ___,
  ...USUAL
} = serviceSchema.parse({
  baseUrl: "http://127.0.0.1",
  auth: { apiToken: "t" },
});

/** Settings of a client that are as usual but for these. */
export function serviceSettings(
  given: Partial<ServiceSettings> & { readonly baseUrl: string; readonly auth: ServiceAuth },
): ServiceSettings {
  return { ...USUAL, ...given };
}
