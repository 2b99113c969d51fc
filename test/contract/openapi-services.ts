import type { SimulatorOptions } from "../../src/simulator/options.ts";

/** Services that decide what the specification leaves open in different ways. */
export const OTHER_SERVICES: Readonly<Record<string, SimulatorOptions>> = {
  "as the simulator is unless told otherwise": {},
  "terse, wrapped and small-lettered": {
    behaviour: {
      listEnvelope: "data",
      externalEnvelope: { key: "procedures", paging: "meta" },
      createdRequest: "short",
      listedRequest: "short",
      listedProcedure: "short",
      listedSubject: "short",
      wordCase: "lower",
      timestamps: "seconds",
      errorBody: "nested",
      validationStatus: 400,
      createdStatus: 200,
      inventory: "counts",
    },
    tokens: { expiresIn: "absent", methods: ["post"], scope: "storage", audience: "urn:storage" },
  },
  "full of strings, nulls and further members": {
    behaviour: {
      listEnvelope: "results",
      ids: "string",
      timestamps: "offset",
      absentFields: "null",
      extraFields: { tenant: "t-1" },
      words: { PENDING: "WAITING", storage: "STORE" },
      singleRequest: "full",
      listedContainers: "all",
      containerLabel: "label",
      errorBody: "problem",
      foreignStatus: 403,
      inventory: "tree",
      credentials: "separate",
    },
    tokens: { expiresIn: "string", methods: ["basic"], path: "/auth/v2/token", type: "bearer" },
  },
  "strict about everything": {
    behaviour: {
      listEnvelope: { key: "entries", paging: "beside" },
      externalPaging: "refuse",
      overPerPage: "refuse",
      otherFilters: "refuse",
      unknownFilters: "refuse",
      unknownMembers: "refuse",
      requiredDescription: true,
      duplicateLabels: "refuse",
      errorBody: "array",
      errorStatuses: { UNAUTHORIZED: 403, NOT_FOUND: 400 },
      errorCodes: { NOT_FOUND: "not_found" },
      inventory: "list",
    },
    cancelRoute: [
      { method: "POST", path: "/api/procedure-requests/{id}/cancel" },
      {
        method: "PATCH",
        path: "/api/v1/external/procedures/{id}",
        surface: "external",
        body: { status: "CANCELLED" },
      },
    ],
  },
  "behind a gateway": {
    behaviour: { errorBody: "html", externalPaging: "whole", filters: ["status", "code"], maxPerPage: 5 },
    cancelRoute: { method: "DELETE", path: "/api/procedure-requests/{id}", answer: "empty" },
  },
};
