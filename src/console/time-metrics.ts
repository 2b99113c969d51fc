import { Histogram, type Registry } from "prom-client";
import type { OrderStep } from "../core/order-step.ts";
import { QUEUE_NAMES, type QueueName } from "../jobs/queues.ts";

/** One finished call to the service. */
export interface ServiceRequest {
  /** Method and path template: `GET /api/subjects/{id}`. Never a path with values in it. */
  readonly route: string;
  /** The answer's status, or why there was none: a small, fixed set of words. */
  readonly outcome: string;
  readonly seconds: number;
}

/** Where time goes: stages of orders, taking messages in, jobs and calls to the service. All times are seconds. */
export interface TimeMetrics {
  /** The stage that a step ended, where it did. */
  recordStep(step: Pick<OrderStep, "connector" | "stage">): void;
  /** `result`: from what happened to an order until the lab has it. */
  recordStage(connector: string, stage: string, seconds: number): void;
  /** Messages that came together were mapped and committed. */
  recordIntake(connector: string, seconds: number): void;
  recordJob(queue: QueueName, outcome: "done" | "failed", seconds: number): void;
  recordRequestTime(request: ServiceRequest): void;
}

/** A machine hands over in less than a second; staff and devices take minutes to days. */
const STAGE_BUCKETS = [0.1, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200, 604_800];
/** A commit takes milliseconds; a lab system waits for its answer for 10 to 30 s. */
const INTAKE_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const REQUEST_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** From a batch without a call to one whose every call is answered at the last moment. */
const JOB_BUCKETS = [...REQUEST_BUCKETS, 60, 300];

/** Adds the histograms to a registry; the returned functions fill them. */
export function addTimeMetrics(registers: Registry[]): TimeMetrics {
  const stages = new Histogram({
    name: "cryobridge_stage_seconds",
    help: "Time of orders in a stage that has ended, by connector and stage; result: from a fact until the lab has it.",
    labelNames: ["connector", "stage"],
    buckets: STAGE_BUCKETS,
    registers,
  });
  const intake = new Histogram({
    name: "cryobridge_intake_seconds",
    help: "Time to map and commit the messages of a frame, or a batch of a file's, by connector.",
    labelNames: ["connector"],
    buckets: INTAKE_BUCKETS,
    registers,
  });
  const jobs = new Histogram({
    name: "cryobridge_job_seconds",
    help: "Time of jobs, by queue and outcome; failed: with an error that nobody expected.",
    labelNames: ["queue", "outcome"],
    buckets: JOB_BUCKETS,
    registers,
  });
  const requests = new Histogram({
    name: "cryobridge_service_request_seconds",
    help: "Time of calls to the storage service, by route and outcome: 2xx, 3xx, 4xx, 5xx or none.",
    labelNames: ["route", "outcome"],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  // The first that fails is a rise, too.
  for (const queue of QUEUE_NAMES) for (const outcome of ["done", "failed"]) jobs.zero({ queue, outcome });
  const recordStage = (connector: string, stage: string, seconds: number) =>
    stages.observe({ connector, stage }, Math.max(0, seconds));
  return {
    recordStep: ({ connector, stage }) => {
      if (stage) recordStage(connector, stage.name, stage.seconds);
    },
    recordStage,
    recordIntake: (connector, seconds) => intake.observe({ connector }, seconds),
    recordJob: (queue, outcome, seconds) => jobs.observe({ queue, outcome }, seconds),
    recordRequestTime: ({ route, outcome, seconds }) =>
      requests.observe({ route, outcome: /^\d/.test(outcome) ? `${outcome[0]}xx` : "none" }, seconds),
  };
}
