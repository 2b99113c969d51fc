import { z } from "zod";
import { areExceptions, EXCEPTION_FORM } from "../core/proxy-exceptions.ts";
import { alertsSchema } from "./alerts-schema.ts";
import { address, connectorsSchema } from "./connector-schema.ts";
import { facilitiesSchema, refillsSchema } from "./facility-schema.ts";
import { duration, filePath, host, httpUrl, port, secret, secretUrl, section } from "./scalars.ts";
import { serviceSchema } from "./service-schema.ts";

const POSTGRES = ["postgres:", "postgresql:"] as const;
const REDIS = ["redis:", "rediss:"] as const;

const node = (usualPort: number) =>
  z.strictObject({ host: host("Host name or address."), port: port("TCP port.").default(usualPort) });

const redisQueue = z.strictObject({
  backend: z.literal("redis").describe("Redis or Valkey, for several machines and high rates."),
  url: secretUrl(`Address of a single server; write a password as \${NAME}.`, REDIS).optional(),
  sentinels: z
    .strictObject({
      master: z.string().min(1).describe("Name of the group that the sentinels watch."),
      nodes: z.array(node(26_379)).min(1).describe("The sentinels."),
      username: z.string().min(1).optional().describe("User name at the sentinels."),
      password: secret(`Password of the sentinels, which have their own; write it as \${NAME}.`).optional(),
      tls: z
        .boolean()
        .optional()
        .describe("TLS to the sentinels, where it is not as to the server that they name."),
    })
    .optional()
    .describe("Sentinels that know the server, instead of url."),
  cluster: z.array(node(6379)).min(1).optional().describe("Some nodes of a cluster, instead of url."),
  username: z
    .string()
    .min(1)
    .optional()
    .describe("User name at the server that sentinels name, or of a cluster."),
  password: secret(
    `Password of the server that sentinels name, or of a cluster; write it as \${NAME}.`,
  ).optional(),
  tls: z
    .boolean()
    .default(false)
    .describe("TLS with sentinels or cluster; with url, write rediss:// instead."),
  ca: filePath("Certificates (PEM) to trust instead of the public authorities.").optional(),
});

const postgresQueue = z.strictObject({
  backend: z.literal("postgres").describe("The ledger's own PostgreSQL server."),
});

/** Where the console listens unless the file says another place. */
export const CONSOLE_ADDRESS = { host: "127.0.0.1", port: 8088 } as const;

const consoleSection = z.strictObject({
  host: host(
    "Address to listen on. Other machines need a host name or address of this one, and then a token.",
  ).default(CONSOLE_ADDRESS.host),
  port: z.int().min(0).max(65_535).default(CONSOLE_ADDRESS.port).describe("TCP port; 0 takes any free one."),
  token: secret(
    `Token of a user called operator, who may act, and of programs; at least 16 characters; write it as \${NAME}.`,
    16,
  ).optional(),
  users: z
    .record(
      z.string().regex(/^[\w.@-]{1,64}$/, "expected a name of letters, digits, dots, - and _"),
      z.strictObject({
        token: secret(`The user's own token, at least 16 characters; write it as \${NAME}.`, 16),
        role: z
          .enum(["viewer", "operator"])
          .default("viewer")
          .describe("A viewer looks and sees nothing of patients; an operator acts, too."),
      }),
    )
    .default({})
    .describe("Who may use the console, by name: the audit has the name with everything that somebody did."),
  url: httpUrl("Where people reach the console, for links in e-mail.").optional(),
  trustedProxies: z
    .array(address)
    .default([])
    .describe(
      "Proxies with TLS before the console: their X-Forwarded-For and X-Forwarded-Proto are believed, nobody else's.",
    ),
});

/** Where traces of orders go. */
const tracingSection = z.strictObject({
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

const exceptions = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(/[\s,]+/))])
  .transform((entries) => entries.filter((entry) => entry !== ""))
  .refine(areExceptions, { error: EXCEPTION_FORM })
  .default([])
  .describe(
    "What is reached directly, as NO_PROXY has it: a list, or a text with commas. This machine always is.",
  );

const proxySection = z.strictObject({
  url: secretUrl(`Address of the proxy; \${HTTPS_PROXY} takes that of the environment.`, ["http:", "https:"]),
  except: exceptions,
});

/** The whole configuration file. Durations come out as milliseconds, sizes as bytes, credentials wrapped, profiles as they are. */
export const fileSchema = z.strictObject({
  dataDir: filePath("Folder of the embedded database, and nothing else.").default("./data"),
  epochFile: filePath(
    "File by which a ledger that was restored from an older copy is noticed; `dataDir` with .epoch added when not set. To lie where no restore of the ledger puts it back.",
  ).optional(),
  processingId: z
    .enum(["P", "T", "D"])
    .default("P")
    .describe("What this installation is for (HL7 table 0103): P production, T training, D debugging."),
  service: serviceSchema.describe("The storage service."),
  proxy: z
    .union([z.literal("none"), proxySection])
    .transform((given) => (given === "none" ? undefined : given))
    .optional()
    .describe("The HTTP proxy before the service, its token endpoint and webhooks; none when not set."),
  facilities: facilitiesSchema,
  connectors: connectorsSchema,
  refills: refillsSchema
    .optional()
    .describe("The liquid-nitrogen refills that are followed; none when not set."),
  profiles: z
    .record(z.string().min(1), z.unknown())
    .default({})
    .describe("Mapping profiles by name; see also profilesDir."),
  profilesDir: filePath("Folder of further mapping profiles, NAME.yaml each.").default("profiles"),
  database: z
    .strictObject({
      url: secretUrl(`Address of a PostgreSQL server; write the password as \${NAME}.`, POSTGRES).optional(),
    })
    .prefault({})
    .describe("The ledger's server; an embedded one when url is not set."),
  queue: z
    .discriminatedUnion("backend", [postgresQueue, redisQueue])
    .prefault({ backend: "postgres" })
    .describe("Where the job queues are kept."),
  console: consoleSection.prefault({}).describe("The console: health, metrics and status over HTTP."),
  alerts: alertsSchema.prefault({}).describe("Who gets alerts of what is wrong, and when."),
  tracing: tracingSection
    .optional()
    .describe("Traces of orders for OpenTelemetry; none are made when not set."),
  retention: section({
    messages: duration("How long raw messages are kept after their orders ended.", { min: "1d" }).prefault(
      "90d",
    ),
    orders: duration("How long ended orders are kept.", { min: "1d" }).prefault("2y"),
  })
    .prefault({})
    .describe("When the ledger forgets; never what is open."),
  worker: section({
    name: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe(
        "What this daemon is called among those that share a ledger; the machine's name when not set.",
      ),
    stopWithin: duration("How long a daemon that is asked to stop may finish what it has in hand.", {
      min: "1s",
      max: "10m",
    }).prefault("10s"),
  })
    .prefault({})
    .describe("This daemon among those that share a ledger."),
  lanes: z
    .strictObject({
      parkedBlocks: z
        .boolean()
        .default(false)
        .describe("Whether an order that waits for a person holds back later orders of the same subject."),
    })
    .prefault({})
    .describe("The order of a subject's orders."),
  delivery: z
    .strictObject({
      parkAfter: z
        .int()
        .min(1)
        .max(1_000)
        .default(10)
        .describe("How often one result may fail while others get through before it is parked for a person."),
    })
    .prefault({})
    .describe("How results are sent to the lab."),
  mapping: z
    .strictObject({
      unknownCodes: z
        .enum(["wait", "refuse"])
        .default("wait")
        .describe(
          "A message with which nothing is wrong but a facility or operation code that no table knows: it waits until one does, or is refused.",
        ),
    })
    .prefault({})
    .describe("How messages are read, beside what their profiles say."),
  guards: z
    .strictObject({
      sameContainer: z
        .enum(["park", "allow"])
        .default("park")
        .describe(
          "An order for a container that an open order of the same kind names, that is stored already or was retrieved already: park it for a person, or allow it.",
        ),
      labelOfTwoSubjects: z
        .enum(["park", "allow"])
        .default("park")
        .describe(
          "An order with a label that an open order of another subject of the same facility has, or that is stored for one: park it for a person, or allow it where labels are unique only within a subject.",
        ),
      labelsPerOrder: z
        .int()
        .min(1)
        .max(100_000)
        .default(500)
        .describe("How many labels one order may have; an order with more is refused."),
    })
    .prefault({})
    .describe("What stops an order before anything is sent."),
  log: z
    .strictObject({
      level: z
        .enum(["trace", "debug", "info", "warn", "error", "silent"])
        .default("info")
        .describe("How much is logged."),
      pretty: z
        .union([z.boolean(), z.literal("auto")])
        .default("auto")
        .describe("Coloured lines for people instead of JSON: true, false, or auto (on a terminal)."),
    })
    .prefault({})
    .describe("The log, on standard error."),
});

export type FileConfig = z.output<typeof fileSchema>;
