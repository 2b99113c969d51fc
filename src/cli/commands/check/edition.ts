import { serviceSettings } from "../../../app/service.ts";
import { type Config, wayOfFacility } from "../../../config/config.ts";
import { asFailure } from "../../../core/failures.ts";
import { EXTERNAL_BASE, LISTS, PATH_NAMES, PUBLIC_PATHS } from "../../../core/service-catalogue.ts";
import { createServiceClient } from "../../../service/client.ts";
import type { Session } from "../../session.ts";

/** What the public edition has where the specification has nothing. */
const MOVED = ["subjects", "storage"] as const;

/**
 * Looks whether a service that doesn't have what it was asked for is one of the public edition, which has everything below
 * the base of the external surface.
 * @returns what to set then; undefined where nothing answers there either
 */
export async function findPublicEdition(
  config: Config,
  { clock, logger }: Pick<Session, "clock" | "logger">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const given = config.service.paths;
  const [facilityId] = config.facilityIdByCode.values();
  const filters = facilityId === undefined ? {} : { facilityId };
  // A client of its own: what happened to the other one's calls holds up none of these.
  const settings = { ...serviceSettings(config), paths: { ...PUBLIC_PATHS, ...given } };
  const service = createServiceClient(settings, { clock, logger });
  const answered: string[] = [];
  try {
    for (const list of MOVED) {
      if (given[list] !== undefined) continue;
      const question = { list, surface: LISTS[list].surface, filters, perPage: 1 };
      const isThere = await service.readPage(question, 1, signal).then(
        () => true,
        (error: unknown) => asFailure(error).code === "SERVICE_REFUSED",
      );
      if (isThere) answered.push(list);
    }
  } finally {
    await service.close();
  }
  return answered.length === 0 ? undefined : hintOf(config, answered);
}

function hintOf(config: Config, answered: readonly string[]): string {
  const { paths } = config.service;
  const facilityIds = [...config.facilityIdByCode.values()];
  const isExternal = facilityIds.every((id) => wayOfFacility(config, id).surface === "external");
  const missing = PATH_NAMES.flatMap((name) => {
    const path = name in PUBLIC_PATHS ? PUBLIC_PATHS[name as keyof typeof PUBLIC_PATHS] : undefined;
    if (path === undefined || paths[name] !== undefined) return [];
    return `${name}: ${path.includes("{") ? `"${path}"` : path}`;
  });
  const surface = isExternal ? "" : "service.surface: external and ";
  const base = EXTERNAL_BASE.slice(0, -1);
  return `It answers for ${answered.join(" and ")} below ${base}, as the public edition does: set ${surface}service.paths: { ${missing.join(", ")} }. config/labs/public-edition is a whole configuration for it.`;
}
