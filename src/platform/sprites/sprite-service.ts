// Making, finding, changing and deleting sprites. A new sprite has its machine at once, stopped.
import type { MachineConfig } from '../../contract/machines.ts';
import { spriteName, type UpdateSpriteRequest, type UrlSettings } from '../../contract/sprites.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomBytes, randomHex } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import { DEFAULT_MEMORY_MB } from '../machines/machine-facts.ts';
import type { MachineService } from '../machines/machine-service.ts';
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
  /** Replaces the settings, and the labels when given. Throws `not_found`. */
  update(organization: Organization, name: string, change: UpdateSpriteRequest): SpriteRow;
  /** Ends its machine and forgets both. Throws `not_found`; interrupted, it can be asked again. */
  delete(organization: Organization, name: string): Promise<void>;
  /** Runs after the labels of a sprite have changed or it is gone. */
  onChange(listener: () => void): void;
  /** Throws `not_found`, or `forbidden` when a sprite asks for another one. */
  findFor(principal: Principal, name: string): SpriteRow;
}

export interface SpriteServiceDeps {
  readonly db: Sqlite;
  readonly sprites: SpriteStore;
  readonly machines: MachineStore;
  readonly machineService: Pick<MachineService, 'destroy'>;
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

  const listeners: (() => void)[] = [];
  function tell(): void {
    for (const listener of listeners) listener();
  }

  function find(organization: Organization, name: string): SpriteRow {
    const row = sprites.findByName(organization.id, name);
    if (row === undefined) throw notFound();
    return row;
  }

  return {
    update(organization, name, { url_settings, labels }) {
      const row = find(organization, name);
      const private_access = url_settings.private_access ?? row.url_settings.private_access;
      const kept = url_settings.auth === 'sprite' && private_access !== undefined ? { private_access } : {};
      const change = { labels: labels ?? row.labels, url_settings: { auth: url_settings.auth, ...kept } };
      const updated = sprites.update(row.id, change, clock.wall_ms());
      if (updated === undefined) throw notFound();
      tell();
      return updated;
    },
    async delete(organization, name) {
      const row = find(organization, name);
      const machine = machines.findBySprite(row.id);
      if (machine !== undefined) await deps.machineService.destroy(machine.id);
      if (!sprites.delete(row.id)) throw notFound();
      tell();
    },
    onChange(listener) {
      listeners.push(listener);
    },
    create: (organization, sprite) => create.immediate(organization, sprite),
    findFor(principal, name) {
      const organization = organizationOf(principal);
      checkOwnSprite(principal, (own) => own.name === name);
      return find(organization, name);
    },
  };
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such sprite');
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
