import type { ReplyTo } from "../../core/reply.ts";
import type { Mapper } from "../../mapping/inbound/mapper.ts";
import type { ReplySettings } from "../../mapping/outbound/reply-hl7.ts";
import type { BatchResponse, Hl7Profile } from "../../mapping/profile/profile.ts";

/** How messages are read and answered. */
export interface IntakeRules {
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
  readonly byConnector: ReadonlyMap<string, ConnectorRules>;
}

/** How the messages of one connector are read and answered. */
export interface ConnectorRules {
  readonly mapper: Mapper;
  /** How the batches of its files are answered as a whole; undefined where each message has an answer of its own. */
  readonly batches?: BatchRules | undefined;
  /** Whether a file that comes again gets its answers again. */
  readonly answersRepeats?: boolean | undefined;
  /** How messages that come over its connections are answered; undefined for a folder. */
  readonly replies?: ConnectionReplies | undefined;
}

/** How batches of files are answered. */
interface BatchRules {
  readonly profile: Hl7Profile;
  readonly response: Exclude<BatchResponse, "none">;
}

/** How a connector's messages are answered over the connections that they come by. */
export interface ConnectionReplies extends ReplySettings {
  readonly profile: Hl7Profile;
  readonly reusedControlId: ReplyTo["reusedControlId"];
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
}
