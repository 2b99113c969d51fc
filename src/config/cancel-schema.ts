import { z } from "zod";
import { SURFACES, type Surface } from "../core/surface.ts";

/** A call that cancels an order at the service. */
export interface CancelCall {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{id}` where the request's id, or on the external surface the procedure's, stands. */
  readonly path: string;
  /** The same for every order. */
  readonly body?: Readonly<Record<string, string | number | boolean | null>> | undefined;
}

/** The cancel call of each surface that has one. */
export type CancelCalls = { readonly [surface in Surface]?: CancelCall | undefined };

const PATH_RULE =
  "expected a path that begins with / and holds {id} once, such as /api/procedure-requests/{id}/cancel";

const call = {
  method: z.enum(["POST", "PUT", "PATCH", "DELETE"]).describe("HTTP method of the cancel call."),
  path: z
    .string()
    .regex(/^\/[^\s?#{}]*\{id\}[^\s?#{}]*$/, {
      error: PATH_RULE,
    })
    .describe("Path of the cancel call, with {id} for the request's id (external surface: the procedure's)."),
  body: z
    .record(z.string().min(1), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .optional()
    .describe("JSON body of the cancel call, the same for every order, such as { status: CANCELLED }."),
};

const section = z
  .strictObject({
    method: call.method.optional(),
    path: call.path.optional(),
    body: call.body,
    surface: z
      .enum(SURFACES)
      .optional()
      .describe("The only surface whose orders are cancelled so; both unless set."),
    request: z.strictObject(call).optional().describe("The call for orders of the request surface."),
    external: z.strictObject(call).optional().describe("The call for orders of the external surface."),
  })
  .superRefine((given, context) => {
    const complain = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    if (given.request === undefined && given.external === undefined) {
      if (given.method === undefined) complain(["method"], "missing; expected POST, PUT, PATCH or DELETE");
      if (given.path === undefined) complain(["path"], `missing; ${PATH_RULE}`);
      return;
    }
    for (const key of ["method", "path", "body", "surface"] as const) {
      if (given[key] !== undefined)
        complain([key], "belongs under request or external, since one of them is there");
    }
  });

/** `service.cancel`: `none`, one call, or a call for each surface. */
export const cancelSchema = z.union([z.literal("none"), section]);

/** The configured call of each surface. */
export function toCancelCalls(given: z.infer<typeof cancelSchema>): CancelCalls {
  if (given === "none") return {};
  const { method, path, body, surface, request, external } = given;
  if (method === undefined || path === undefined) return { request, external };
  const same = { method, path, body };
  return surface === undefined ? { request: same, external: same } : { [surface]: same };
}
