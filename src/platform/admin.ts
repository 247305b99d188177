// What an operator does without a token: making organizations, tokens, sprites and connectors, and moving machines. Used by
// `remora dev` and by the platform's own command line.
import { join } from 'node:path';
import type { AccessPolicyRequest } from '../contract/access-policy.ts';
import type { Connection } from '../contract/connectors.ts';
import type { MachineConfig, MachineStatus } from '../contract/machines.ts';
import type { Sprite, UpdateSpriteRequest, UrlSettings } from '../contract/sprites.ts';
import type { Clock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { toConnectionRecord } from './connectors/connector-record.ts';
import type { ConnectorService } from './connectors/connector-service.ts';
import type { StopOptions } from './machines/driver.ts';
import type { MachineService } from './machines/machine-service.ts';
import type { MachineRow, MachineStore } from './machines/machine-store.ts';
import type { Organization, OrganizationLimits, OrganizationStore } from './organizations/organization-store.ts';
import { type SpriteSurroundings, toSpriteRecord } from './sprites/sprite-record.ts';
import type { SpriteService } from './sprites/sprite-service.ts';
import type { SpriteRow, SpriteStore } from './sprites/sprite-store.ts';
import type { NewToken, TokenRow, TokenStore } from './tokens/token-store.ts';

/** A sprite by the slug of its organization and its name. */
export interface SpriteName {
  readonly organization: string;
  readonly sprite: string;
}

export interface NewAdminSprite {
  readonly organization: string;
  readonly name: string;
  readonly labels?: readonly string[];
  readonly url_settings?: UrlSettings;
  readonly config?: MachineConfig;
}

export interface NewAdminToken extends Pick<NewToken, 'access' | 'name' | 'user_id' | 'expires_at'> {
  readonly organization: string;
  /** Absent = of the whole organization. */
  readonly sprite?: string;
}

export interface NewAdminConnector {
  readonly organization: string;
  readonly provider: string;
  readonly api_key: Secret;
  readonly base_api_url?: string;
  readonly access_policy?: AccessPolicyRequest;
  /** Up to 64 letters, digits, dashes and underscores; made up when absent. */
  readonly id?: string;
}

export interface AdminMachine {
  readonly app: string;
  readonly id: string;
  readonly state: MachineStatus;
  readonly instance_id: string;
  /** Where its socket, token, state and log are: `agent.sock`, `token`, `state`, `agent.log`. */
  readonly dir: string;
  readonly socket: string;
}

/** Everything throws `not_found` for an organization or a sprite that is not there. */
export interface PlatformAdmin {
  createOrganization(slug: string): Organization;
  setLimits(organization: string, limits: Partial<OrganizationLimits>): Organization;
  /** By slug. */
  listOrganizations(): readonly Organization[];
  hasOrganization(slug: string): boolean;
  /** The text is not kept: it can be shown only now. */
  createToken(token: NewAdminToken): Secret;
  listTokens(organization: string): readonly TokenRow[];
  /** Throws `not_found` when the organization has no such token. */
  revokeToken(organization: string, id: string): void;
  createSprite(sprite: NewAdminSprite): Sprite;
  /** Replaces the URL settings, and the labels when given. */
  updateSprite(name: SpriteName, change: UpdateSpriteRequest): Sprite;
  findSprite(name: SpriteName): Sprite | undefined;
  /** By name; at most a thousand after `after`. */
  listSprites(organization: string, after?: string): readonly Sprite[];
  createConnector(connector: NewAdminConnector): Connection;
  listConnectors(organization: string): readonly Connection[];
  readMachine(name: SpriteName): AdminMachine;
  /** Returns the state before. */
  startMachine(name: SpriteName): Promise<MachineStatus>;
  suspendMachine(name: SpriteName): void;
  /** Resolves when nothing of it runs. */
  stopMachine(name: SpriteName, options?: StopOptions): Promise<void>;
  destroyMachine(name: SpriteName): Promise<void>;
}

export interface AdminDeps {
  readonly organizations: OrganizationStore;
  readonly tokens: TokenStore;
  readonly sprites: SpriteStore;
  readonly machines: MachineStore;
  readonly spriteService: SpriteService;
  readonly connectorService: ConnectorService;
  readonly machineService: Pick<MachineService, 'start' | 'suspend' | 'stop' | 'destroy'>;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly machinesDir: string;
  readonly around: SpriteSurroundings;
  readonly platformUrl: () => string;
}

const LIST_MAX = 1_000;
const STOP: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

export function createAdmin(deps: AdminDeps): PlatformAdmin {
  function organizationOf(slug: string): Organization {
    const found = deps.organizations.findBySlug(slug);
    if (found === undefined) throw new RemoraError('not_found', `there is no organization ${slug}`);
    return found;
  }

  function spriteOf({ organization, sprite }: SpriteName): SpriteRow {
    const found = deps.sprites.findByName(organizationOf(organization).id, sprite);
    if (found === undefined) throw new RemoraError('not_found', `there is no sprite ${sprite} in ${organization}`);
    return found;
  }

  function machineOf(name: SpriteName): MachineRow {
    const found = deps.machines.findBySprite(spriteOf(name).id);
    if (found === undefined) throw new RemoraError('not_found', `the sprite ${name.sprite} has no machine`);
    return found;
  }

  return {
    createOrganization: (slug) => deps.organizations.create(slug, deps.clock.wall_ms()),
    setLimits: (slug, limits) => deps.organizations.setLimits(organizationOf(slug).id, limits),
    listOrganizations: () => deps.organizations.list(),
    hasOrganization: (slug) => deps.organizations.findBySlug(slug) !== undefined,
    createToken({ organization, sprite, ...more }) {
      const organization_id = organizationOf(organization).id;
      const sprite_id = sprite === undefined ? null : spriteOf({ organization, sprite }).id;
      return deps.tokens.create({ organization_id, sprite_id, ...more }, deps.clock.wall_ms()).text;
    },
    listTokens: (organization) => deps.tokens.list(organizationOf(organization).id),
    revokeToken(organization, id) {
      if (deps.tokens.revoke(organizationOf(organization).id, id)) return;
      throw new RemoraError('not_found', `${organization} has no token ${id}`);
    },
    createSprite({ organization: slug, ...sprite }) {
      const organization = organizationOf(slug);
      return toSpriteRecord(deps.spriteService.create(organization, sprite), organization, deps.around);
    },
    updateSprite({ organization: slug, sprite }, change) {
      const organization = organizationOf(slug);
      return toSpriteRecord(deps.spriteService.update(organization, sprite, change), organization, deps.around);
    },
    findSprite({ organization: slug, sprite }) {
      const organization = organizationOf(slug);
      const row = deps.sprites.findByName(organization.id, sprite);
      return row === undefined ? undefined : toSpriteRecord(row, organization, deps.around);
    },
    listSprites(slug, after = '') {
      const organization = organizationOf(slug);
      const rows = deps.sprites.list({ organization_id: organization.id, prefix: '', after, limit: LIST_MAX });
      return rows.map((row) => toSpriteRecord(row, organization, deps.around));
    },
    createConnector({ organization, api_key, ...connector }) {
      const { id } = organizationOf(organization);
      const row = deps.connectorService.create(id, { ...connector, api_key: api_key.reveal() });
      return toConnectionRecord(row, deps.catalogue.find(row.provider), deps.platformUrl());
    },
    listConnectors(organization) {
      const rows = deps.connectorService.list(organizationOf(organization).id);
      return rows.map((row) => toConnectionRecord(row, deps.catalogue.find(row.provider), deps.platformUrl()));
    },
    readMachine(name) {
      const { app, id, state, instance_id } = machineOf(name);
      const dir = join(deps.machinesDir, id);
      return { app, id, state, instance_id, dir, socket: join(dir, 'agent.sock') };
    },
    startMachine: (name) => deps.machineService.start(machineOf(name).id),
    suspendMachine: (name) => deps.machineService.suspend(machineOf(name).id),
    stopMachine: (name, options = STOP) => deps.machineService.stop(machineOf(name).id, options),
    destroyMachine: (name) => deps.machineService.destroy(machineOf(name).id),
  };
}
