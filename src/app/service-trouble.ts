import type { FailureCode } from "../core/failures.ts";

/** Why nothing goes to the service right now, in words for an operator, by the failure that keeps calls back. */
export function serviceTrouble(cause: FailureCode | undefined): string {
  switch (cause) {
    case "SERVICE_CREDENTIALS_REFUSED":
      return "the credentials are refused (service.auth or its secret): nothing is submitted until they are right";
    case "SERVICE_TOKEN_UNAVAILABLE":
      return "the token endpoint issues no token: nothing is submitted until it does";
    default:
      return "the storage service is out of reach";
  }
}
