// Makes, finds, changes and deletes sprites. A new sprite has a machine at once, which is stopped.
import type { MachineConfig } from '../../contract/machine-config.ts';
import { spriteName, type UpdateSpriteRequest, type UrlSettings } from '../../contract/sprites.ts';
import type { Clock } from '../../core/clock.ts';
import { toPrivateAddress } from '../../core/private-address.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import { findAppOfSprite } from '../apps/find-app-of-sprite.ts';
import type { Changes } from '../changes.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import { CPUS, type MachineDefaults, PROCESS_DEFAULTS, REGION } from '../machines/records/machine-defaults.ts';
import { createMachineStore, type MachineStore } from '../machines/records/machine-store.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { Sql, Storage } from '../storage/storage.ts';
import { checkOwnSprite, organizationOf, type Principal } from '../tokens/principal.ts';
import { countCreation } from './creation-limit.ts';
import { createSpriteStore, type SpriteRow, type SpriteStore } from './sprite-store.ts';

export interface NewSpriteOptions {
  readonly name: string;
  readonly labels?: readonly string[] | undefined;
  readonly url_settings?: UrlSettings | undefined;
  /** The configuration of its machine; 256 MB of memory and one processor when absent. */
  readonly config?: MachineConfig | undefined;
  /** Its machine runs outside the platform. */
  readonly external?: boolean | undefined;
  /** The app of its machine; the one named like the organization when absent. */
  readonly app?: string | undefined;
  /** How many the organization may create in a minute; any number when absent. */
  readonly creationLimit?: number | undefined;
}

export interface SpriteService {
  /**
   * Throws `already_exists` for a taken name and `invalid_request` for a malformed one, both naming the field, `not_found` for an app, and
   * `sprite_creation_rate_limited`.
   */
  create(organization: Organization, sprite: NewSpriteOptions): Promise<SpriteRow>;
  /** Replaces the settings and the labels that are given. Throws `not_found`. */
  update(organization: Organization, name: string, change: UpdateSpriteRequest): Promise<SpriteRow>;
  /** Ends the machine and deletes it and the sprite. Throws `not_found`. After an interruption it can be called again. */
  delete(organization: Organization, name: string): Promise<void>;
  /** Throws `not_found`, or `forbidden` when a sprite asks for another one. */
  findFor(principal: Principal, name: string): Promise<SpriteRow>;
}

export interface SpriteServiceDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly sprites: SpriteStore;
  readonly machines: Pick<MachineStore, 'findBySprite'>;
  readonly machineService: Pick<MachineService, 'destroy'>;
  /** Gets `sprite_created` after a creation, and `sprite_changed` after an update or a deletion. */
  readonly changes: Pick<Changes, 'publish'>;
  readonly clock: Clock;
  /** Processes of this host when absent. */
  readonly defaults?: MachineDefaults | undefined;
}

export function createSpriteService(deps: SpriteServiceDeps): SpriteService {
  const { storage, sprites, machines, changes, clock } = deps;
  const { driver, memory_mb } = deps.defaults ?? PROCESS_DEFAULTS;

  async function create(
    sql: Sql,
    organization: Organization,
    given: NewSpriteOptions & { readonly app: string },
  ): Promise<SpriteRow> {
    const { name, labels = [], url_settings = { auth: 'sprite' }, config, external = false, creationLimit } = given;
    const now_ms = clock.wall_ms();
    if (creationLimit !== undefined) await countCreation(sql, organization.id, creationLimit, now_ms);
    const app = await findAppOfSprite(sql, organization, given.app, now_ms);
    const sprite = { organization_id: organization.id, name, labels, url_settings };
    const row = await createSpriteStore(sql).insert(sprite, now_ms);
    if (row === undefined) throw refuse('already_exists', `there is a sprite ${name} already`);
    const id = randomHex(7);
    const machine = {
      id,
      app,
      organization_id: organization.id,
      sprite_id: row.id,
      name,
      region: REGION,
      private_ip: toPrivateAddress(organization.id, 'machine', id),
      config: external ? { ...config, external } : { driver, guest: { memory_mb, cpus: CPUS }, ...config },
    };
    await createMachineStore(sql).insert(machine, now_ms);
    return { ...row, machine_id: machine.id, machine_state: 'stopped', app };
  }

  async function find(organization: Organization, name: string, from = sprites): Promise<SpriteRow> {
    const row = await from.findByName(organization.id, name);
    if (row === undefined) throw notFound();
    return row;
  }

  return {
    async create(organization, sprite) {
      if (!spriteName.safeParse(sprite.name).success) {
        throw refuse('invalid_request', 'expected the form of a sprite name');
      }
      const { app = organization.slug } = sprite;
      const made = { ...sprite, app };
      const row = await storage.transaction((sql) => create(sql, organization, made), toAppTurn(app));
      changes.publish({ type: 'sprite_created', sprite_id: row.id });
      return row;
    },
    async update(organization, name, { url_settings, labels }) {
      const updated = await storage.transaction(async (sql) => {
        const inside = createSpriteStore(sql);
        const row = await find(organization, name, inside);
        const { auth, private_access = row.url_settings.private_access } = url_settings ?? row.url_settings;
        const kept = auth === 'sprite' && private_access !== undefined ? { private_access } : {};
        const change = { labels: labels ?? row.labels, url_settings: { auth, ...kept } };
        return await inside.update(row.id, change, clock.wall_ms());
      }, `sprite ${name} of ${organization.id}`);
      if (updated === undefined) throw notFound();
      changes.publish({ type: 'sprite_changed', sprite_id: updated.id });
      return updated;
    },
    async delete(organization, name) {
      const row = await find(organization, name);
      const machine = await machines.findBySprite(row.id);
      if (machine !== undefined) await deps.machineService.destroy(machine.id);
      if (!(await sprites.delete(row.id)) && !row.machine_only) throw notFound();
      changes.publish({ type: 'sprite_changed', sprite_id: row.id });
    },
    async findFor(principal, name) {
      const organization = organizationOf(principal);
      checkOwnSprite(principal, (own) => own.name === name);
      return await find(organization, name);
    },
  };
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such sprite');
}

function refuse(code: 'invalid_request' | 'already_exists', message: string): RemoraError {
  const field = 'body.name';
  return new RemoraError(code, `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}
