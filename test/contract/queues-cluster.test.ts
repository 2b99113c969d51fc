import { withCluster } from "../support/redis-server.ts";
import { describeRedisContract } from "./redis-queues.ts";

describeRedisContract("a Redis cluster", withCluster);
