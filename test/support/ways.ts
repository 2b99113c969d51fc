import type { FacilityWay } from "../../src/core/surface.ts";

/** Every facility goes by the request surface. */
export const byRequest = (): FacilityWay => ({ surface: "request", subjects: "register" });

/** Every facility goes by the external surface. */
export const byExternal = (): FacilityWay => ({ surface: "external", subjects: "register" });
