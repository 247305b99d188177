// A stored sprite as document 1 shows it. Its status is that of the machine behind it.
import type { Sprite, SpriteStatus } from '../../contract/sprites.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { SpriteRow } from './sprite-store.ts';

/** What all the sprites of one platform have in common. */
export interface SpriteSurroundings {
  /** `{sprite}` and `{organization}` stand for the names. */
  readonly urlTemplate: string;
  /** Of the image that machines boot from; null where nobody has said. */
  readonly environment_version: string | null;
}

/** Nothing serves these addresses yet: a sprite is reached through its agent. */
export const SPRITE_URL = 'http://{sprite}.{organization}.localhost';

export function toSpriteRecord(row: SpriteRow, organization: Organization, around: SpriteSurroundings): Sprite {
  return {
    id: row.id,
    name: row.name,
    organization: organization.slug,
    url: around.urlTemplate.replaceAll('{sprite}', row.name).replaceAll('{organization}', organization.slug),
    status: toSpriteStatus(row.machine_state),
    created_at: toDateTime(row.created_at),
    updated_at: toDateTime(row.updated_at),
    environment_version: around.environment_version,
    ...(row.labels.length === 0 ? {} : { labels: [...row.labels] }),
    last_running_at: row.last_running_at === null ? null : toDateTime(row.last_running_at),
    last_warming_at: row.last_warming_at === null ? null : toDateTime(row.last_warming_at),
    url_settings: row.url_settings,
    version: row.agent_version,
  };
}

/** Running until it is frozen, and cold until it runs: `starting` cannot be told apart from a boot. */
export function toSpriteStatus(machine_state: string | null): SpriteStatus {
  switch (machine_state) {
    case 'running':
    case 'suspending':
      return 'running';
    case 'suspended':
      return 'warm';
    default:
      return 'cold';
  }
}
