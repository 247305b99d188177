// A stored sprite as the Sandbox API shows it (Sprite). Its status comes from the state of its machine.
import type { Sprite, SpriteStatus } from '../../contract/sprites.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { SpriteRow } from './sprite-store.ts';

/** What all sprites of a platform share. */
export interface SpriteSurroundings {
  /** `{sprite}` and `{organization}` stand for the names. */
  readonly urlTemplate: string;
  /** The version of the image that machines boot from; null when the operator has set none. */
  readonly environment_version: string | null;
}

/** What records show where no proxy serves URLs: a sprite is reached through its agent then. */
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
    machine_id: row.machine_id,
    app: row.app,
  };
}

/** A sprite counts as running until its machine is frozen, and as cold while it is `starting`, be it a boot or a resume. */
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
