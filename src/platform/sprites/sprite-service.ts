// Making and finding sprites. A new sprite has its machine at once, stopped.
import type { MachineConfig } from '../../contract/machines.ts';
import { spriteName, type UrlSettings } from '../../contract/sprites.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomBytes, randomHex } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import { DEFAULT_MEMORY_MB } from '../machines/machine-facts.ts';
import type { MachineStore } from '../machines/machine-store.ts';
import type { Organization } from '../organizations/organization-store.ts';
import { checkOwnSprite, organizationOf, type Principal } from '../tokens/principal.ts';
import type { SpriteRow, SpriteStore } from './sprite-store.ts';

export interface NewSpriteOptions {
  readonly name: string;
  readonly labels?: readonly string[] | undefined;
  readonly url_settings?: UrlSettings | undefined;
  /** The configuration of its machine; 256 MB of memory and one processor when absent. */
  readonly config?: MachineConfig | undefined;
}

export interface SpriteService {
  /** Throws `already_exists` for a taken name and `invalid_request` for a malformed one, both naming the field. */
  create(organization: Organization, sprite: NewSpriteOptions): SpriteRow;
  /** Throws `not_found`, or `forbidden` when a sprite asks for another one. */
  findFor(principal: Principal, name: string): SpriteRow;
}

export interface SpriteServiceDeps {
  readonly db: Sqlite;
  readonly sprites: SpriteStore;
  readonly machines: MachineStore;
  readonly clock: Clock;
}

const REGION = 'local';
/** The one that there is. */
const DRIVER = 'process';

export function createSpriteService(deps: SpriteServiceDeps): SpriteService {
  const { sprites, machines, clock } = deps;

  const create = deps.db.transaction((organization: Organization, given: NewSpriteOptions): SpriteRow => {
    const { name, labels = [], url_settings = { auth: 'sprite' }, config } = given;
    if (!spriteName.safeParse(name).success) throw refuse('invalid_request', 'expected the form of a sprite name');
    const now_ms = clock.wall_ms();
    const row = sprites.insert({ organization_id: organization.id, name, labels, url_settings }, now_ms);
    if (row === undefined) throw refuse('already_exists', `there is a sprite ${name} already`);
    const machine = {
      id: randomHex(7),
      app: organization.slug,
      organization_id: organization.id,
      sprite_id: row.id,
      name,
      region: REGION,
      private_ip: toPrivateAddress(randomBytes(14)),
      config: { driver: DRIVER, guest: { memory_mb: DEFAULT_MEMORY_MB, cpus: 1 }, ...config },
    };
    machines.insert(machine, now_ms);
    return { ...row, machine_state: 'stopped' };
  });

  return {
    create: (organization, sprite) => create.immediate(organization, sprite),
    findFor(principal, name) {
      const organization = organizationOf(principal);
      checkOwnSprite(principal, (own) => own.name === name);
      const row = sprites.findByName(organization.id, name);
      if (row === undefined) throw new RemoraError('not_found', 'there is no such sprite');
      return row;
    },
  };
}

/** An address of its own kind for each machine, in the range that is private to an organization. */
function toPrivateAddress(bytes: Buffer): string {
  const groups = Array.from({ length: 7 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return `fdaa:${groups.join(':')}`;
}

function refuse(code: 'invalid_request' | 'already_exists', message: string): RemoraError {
  const field = 'body.name';
  return new RemoraError(code, `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}
