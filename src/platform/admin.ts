// What an operator does without a token: making organizations, tokens, sprites and connectors, and moving machines. Used by
// `remora dev` and by the platform's own command line.
import { join } from 'node:path';
import type { AccessPolicyRequest } from '../contract/access-policy.ts';
import type { Connection } from '../contract/connectors.ts';
import type {
  CreateExtensionProviderRequest,
  ExtensionSecretKind,
  UpdateExtensionProviderRequest,
} from '../contract/extension-providers.ts';
import type { GatewayUsage } from '../contract/gateway-usage.ts';
import type { MachineConfig } from '../contract/machine-config.ts';
import type { MachineStatus } from '../contract/machines.ts';
import type { Sprite, UpdateSpriteRequest, UrlSettings } from '../contract/sprites.ts';
import type { Clock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { createOrganization } from './apps/create-organization.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { toConnectionRecord } from './connectors/connector-record.ts';
import type { ConnectorService } from './connectors/connector-service.ts';
import { listConnections } from './connectors/list-connections.ts';
import type { ConnectorRow } from './connectors/records/connector-store.ts';
import type { ExtensionProvider } from './extension-providers/extension-provider.ts';
import type { ProviderRegistration, RegisteredProvider } from './extension-providers/provider-registration.ts';
import { toUsageDays, type UsageDays } from './gateway/usage/usage-days.ts';
import type { UsageStore } from './gateway/usage/usage-store.ts';
import type { StopOptions } from './machines/drivers/machine-driver.ts';
import type { MachineService } from './machines/moves/machine-service.ts';
import type { MachineRow } from './machines/records/machine-row.ts';
import type { MachineStore } from './machines/records/machine-store.ts';
import type { Organization, OrganizationLimits, OrganizationStore } from './organizations/organization-store.ts';
import { type SpriteSurroundings, toSpriteRecord } from './sprites/sprite-record.ts';
import type { SpriteService } from './sprites/sprite-service.ts';
import type { SpriteRow, SpriteStore } from './sprites/sprite-store.ts';
import type { Storage } from './storage/storage.ts';
import type { NewToken, TokenRow, TokenStore } from './tokens/token-store.ts';
import type { NewMember, UserService, UserWithPassword } from './users/user-service.ts';
import type { User, UserStore } from './users/user-store.ts';

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
  /** Its machine runs outside the platform. */
  readonly external?: boolean;
  /** The app of its machine; the one named like the organization when absent. */
  readonly app?: string;
}

export interface NewAdminToken extends Pick<NewToken, 'access' | 'name' | 'user_id' | 'expires_at'> {
  readonly organization: string;
  /** The sprite that the token is for; absent = the whole organization. */
  readonly sprite?: string;
}

export interface NewAdminConnector {
  readonly organization: string;
  readonly provider: string;
  readonly api_key: Secret;
  readonly base_api_url?: string;
  readonly access_policy?: AccessPolicyRequest;
  /** 1 to 64 letters, digits, dashes and underscores; generated when absent. */
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
  /** Makes it also where another organization has an app of the name: a platform that makes it at its start must start. */
  createOrganization(slug: string): Promise<Organization>;
  setLimits(organization: string, limits: Partial<OrganizationLimits>): Promise<Organization>;
  /** Sorted by slug. */
  listOrganizations(): Promise<readonly Organization[]>;
  hasOrganization(slug: string): Promise<boolean>;
  /** The token's text is not kept: it can be shown only now. */
  createToken(token: NewAdminToken): Promise<Secret>;
  listTokens(organization: string): Promise<readonly TokenRow[]>;
  /** Throws `not_found` when the organization has no such token. */
  revokeToken(organization: string, id: string): Promise<void>;
  /** Throws `already_exists` for a taken email address. */
  createUser(user: NewMember): Promise<UserWithPassword>;
  findUser(email: string): Promise<User | undefined>;
  /** `user`: the id or the email address. */
  resetPassword(user: string): Promise<UserWithPassword>;
  createSprite(sprite: NewAdminSprite): Promise<Sprite>;
  /** Replaces the URL settings, and the labels when given. */
  updateSprite(name: SpriteName, change: UpdateSpriteRequest): Promise<Sprite>;
  findSprite(name: SpriteName): Promise<Sprite | undefined>;
  /** Sorted by name; at most a thousand after `after`. */
  listSprites(organization: string, after?: string): Promise<readonly Sprite[]>;
  createConnector(connector: NewAdminConnector): Promise<Connection>;
  listConnectors(organization: string): Promise<readonly Connection[]>;
  /** The gateway's calls, summed by day and connector; the last thirty days unless `days` says otherwise. */
  listUsage(organization: string, days: UsageDays): Promise<readonly GatewayUsage[]>;
  /** Its secrets can be shown only now. Throws as `ProviderRegistration.create`. */
  registerExtensionProvider(given: CreateExtensionProviderRequest): Promise<RegisteredProvider>;
  updateExtensionProvider(name: string, change: UpdateExtensionProviderRequest): Promise<ExtensionProvider>;
  /** The previous secret ends at once. */
  renewExtensionSecret(name: string, kind: ExtensionSecretKind): Promise<Secret>;
  readMachine(name: SpriteName): Promise<AdminMachine>;
  /** Returns the state before. */
  startMachine(name: SpriteName): Promise<MachineStatus>;
  suspendMachine(name: SpriteName): Promise<void>;
  /** Resolves when nothing of it runs. */
  stopMachine(name: SpriteName, options?: StopOptions): Promise<void>;
  destroyMachine(name: SpriteName): Promise<void>;
}

export interface AdminDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly organizations: OrganizationStore;
  readonly tokens: TokenStore;
  readonly users: Pick<UserStore, 'findByEmail'>;
  readonly userService: Pick<UserService, 'create' | 'resetPassword'>;
  readonly sprites: SpriteStore;
  readonly machines: MachineStore;
  readonly spriteService: SpriteService;
  readonly connectorService: ConnectorService;
  readonly machineService: Pick<MachineService, 'start' | 'suspend' | 'stop' | 'destroy'>;
  readonly registration: Pick<ProviderRegistration, 'create' | 'update' | 'rotate'>;
  readonly catalogue: Catalogue;
  readonly usage: Pick<UsageStore, 'list'>;
  readonly clock: Clock;
  readonly machinesDir: string;
  readonly around: SpriteSurroundings;
  readonly platformUrl: () => string;
}

const LIST_MAX = 1_000;
const STOP: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

export function createAdmin(deps: AdminDeps): PlatformAdmin {
  async function organizationOf(slug: string): Promise<Organization> {
    const found = await deps.organizations.findBySlug(slug);
    if (found === undefined) throw new RemoraError('not_found', `there is no organization ${slug}`);
    return found;
  }

  async function spriteOf({ organization, sprite }: SpriteName): Promise<SpriteRow> {
    const found = await deps.sprites.findByName((await organizationOf(organization)).id, sprite);
    if (found === undefined) throw new RemoraError('not_found', `there is no sprite ${sprite} in ${organization}`);
    return found;
  }

  async function machineOf(name: SpriteName): Promise<MachineRow> {
    const found = await deps.machines.findBySprite((await spriteOf(name)).id);
    if (found === undefined) throw new RemoraError('not_found', `the sprite ${name.sprite} has no machine`);
    return found;
  }

  const toConnection = (row: ConnectorRow) =>
    toConnectionRecord(row, deps.catalogue.find(row.provider), deps.platformUrl());

  return {
    createOrganization: (slug) => createOrganization(deps.storage, slug, deps.clock.wall_ms(), 'allow'),
    setLimits: async (slug, limits) => await deps.organizations.setLimits((await organizationOf(slug)).id, limits),
    listOrganizations: () => deps.organizations.list(),
    hasOrganization: async (slug) => (await deps.organizations.findBySlug(slug)) !== undefined,
    async createToken({ organization, sprite, ...more }) {
      const organization_id = (await organizationOf(organization)).id;
      const sprite_id = sprite === undefined ? null : (await spriteOf({ organization, sprite })).id;
      const made = await deps.tokens.create({ organization_id, sprite_id, ...more }, deps.clock.wall_ms());
      return made.text;
    },
    listTokens: async (organization) => await deps.tokens.list((await organizationOf(organization)).id),
    async revokeToken(organization, id) {
      if (await deps.tokens.revoke((await organizationOf(organization)).id, id)) return;
      throw new RemoraError('not_found', `${organization} has no token ${id}`);
    },
    createUser: (user) => deps.userService.create(user),
    findUser: (email) => deps.users.findByEmail(email),
    resetPassword: (user) => deps.userService.resetPassword(user),
    async createSprite({ organization: slug, ...sprite }) {
      const organization = await organizationOf(slug);
      return toSpriteRecord(await deps.spriteService.create(organization, sprite), organization, deps.around);
    },
    async updateSprite({ organization: slug, sprite }, change) {
      const organization = await organizationOf(slug);
      return toSpriteRecord(await deps.spriteService.update(organization, sprite, change), organization, deps.around);
    },
    async findSprite({ organization: slug, sprite }) {
      const organization = await organizationOf(slug);
      const row = await deps.sprites.findByName(organization.id, sprite);
      return row === undefined ? undefined : toSpriteRecord(row, organization, deps.around);
    },
    async listSprites(slug, after = '') {
      const organization = await organizationOf(slug);
      const page = { organization_id: organization.id, prefix: '', after, limit: LIST_MAX };
      return (await deps.sprites.list(page)).map((row) => toSpriteRecord(row, organization, deps.around));
    },
    async createConnector({ organization, api_key, ...connector }) {
      const { id } = await organizationOf(organization);
      return toConnection(await deps.connectorService.create(id, { ...connector, api_key: api_key.reveal() }));
    },
    async listConnectors(organization) {
      return await listConnections(
        await deps.connectorService.list((await organizationOf(organization)).id),
        toConnection,
      );
    },
    async listUsage(organization, days) {
      const { id: organization_id } = await organizationOf(organization);
      return await deps.usage.list({ organization_id, ...toUsageDays(days, deps.clock.wall_ms()) });
    },
    registerExtensionProvider: (given) => deps.registration.create(given),
    updateExtensionProvider: (name, change) => deps.registration.update(name, change),
    renewExtensionSecret: async (name, kind) => (await deps.registration.rotate(name, kind, 0)).secret,
    async readMachine(name) {
      const { app, id, state, instance_id } = await machineOf(name);
      const dir = join(deps.machinesDir, id);
      return { app, id, state, instance_id, dir, socket: join(dir, 'agent.sock') };
    },
    startMachine: async (name) => (await deps.machineService.start((await machineOf(name)).id)).previous_state,
    suspendMachine: async (name) => await deps.machineService.suspend((await machineOf(name)).id),
    async stopMachine(name, options = STOP) {
      const { ended } = await deps.machineService.stop((await machineOf(name)).id, options);
      await ended;
    },
    destroyMachine: async (name) => await deps.machineService.destroy((await machineOf(name)).id),
  };
}
