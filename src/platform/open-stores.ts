// Opens the directory and the database of a platform: the lock, the storage, and one store for each table of records.
import { join } from 'node:path';
import { RemoraError } from '../core/remora-error.ts';
import { whyNotOwnDirectory } from '../linux/own-directory.ts';
import { openLock } from '../sqlite/lock.ts';
import { type ConnectorStore, createConnectorStore } from './connectors/records/connector-store.ts';
import { createIncarnationStore, type IncarnationStore } from './fencing/incarnation-store.ts';
import { openHostId } from './hosts/host-id.ts';
import { createMachineStore, type MachineStore } from './machines/records/machine-store.ts';
import { createNetworkPolicyStore, type NetworkPolicyStore } from './network-policies/network-policy-store.ts';
import { createOrganizationStore, type OrganizationStore } from './organizations/organization-store.ts';
import type { PlatformOptions } from './platform-options.ts';
import { createNoticeStore, type NoticeStore } from './port-notices/port-notice-store.ts';
import { createProgramPolicyStore, type ProgramPolicyStore } from './program-policies/program-policy-store.ts';
import { toSecretSources } from './secret-sources.ts';
import { createSpriteStore, type SpriteStore } from './sprites/sprite-store.ts';
import { openStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';
import { takeUpKeys } from './take-up-keys.ts';
import { createCallerStore } from './tokens/caller-store.ts';
import { createKeptCallers, type KeptCallers } from './tokens/kept-callers.ts';
import { createTokenStore, type TokenStore } from './tokens/token-store.ts';
import { forgetRunningKeys } from './vault/running-keys.ts';
import type { Vault } from './vault/vault.ts';

export interface Stores extends AsyncDisposable {
  readonly storage: Storage;
  /** Several platform processes may use the database. */
  readonly isShared: boolean;
  /** Names this platform process among those on the database. */
  readonly host: string;
  readonly organizations: OrganizationStore;
  readonly sprites: SpriteStore;
  readonly tokens: TokenStore;
  readonly callers: KeptCallers;
  readonly machines: MachineStore;
  readonly connectors: ConnectorStore;
  readonly notices: NoticeStore;
  readonly incarnations: IncarnationStore;
  readonly networkPolicies: NetworkPolicyStore;
  readonly programPolicies: ProgramPolicyStore;
}

/** The only host on SQLite, which one platform process uses; the id stays when the file is moved. */
const ONLY_HOST = 'local';

/** Throws `not_configured` when stored credentials need another vault key or others may write the directory, `conflict` when another platform uses the directory, and what SQLite says. */
export async function openStores(
  { dir, database, log }: Pick<PlatformOptions, 'dir' | 'database' | 'log'>,
  vault: Vault,
): Promise<Stores> {
  await using stack = new AsyncDisposableStack();
  // Also beside PostgreSQL: the operator's socket and the files of machines are in it.
  const problem = whyNotOwnDirectory(dir);
  if (problem !== undefined) throw new RemoraError('not_configured', problem);
  stack.use(openLock(join(dir, 'platform.lock')));
  const storage = stack.use(await openStorage(dir, database));
  const isShared = database !== undefined;
  const host = isShared ? openHostId(dir) : ONLY_HOST;
  const stores = {
    storage,
    isShared,
    host,
    organizations: createOrganizationStore(storage),
    sprites: createSpriteStore(storage),
    tokens: createTokenStore(storage),
    callers: createKeptCallers(createCallerStore(storage), storage),
    machines: createMachineStore(storage),
    connectors: createConnectorStore(storage),
    notices: createNoticeStore(storage),
    incarnations: createIncarnationStore(storage),
    networkPolicies: createNetworkPolicyStore(storage),
    programPolicies: createProgramPolicyStore(storage),
  };
  await takeUpKeys({ dir, storage, connectors: stores.connectors, sources: toSecretSources(stores), vault, host, log });
  stack.defer(() => forgetRunningKeys(storage, host));
  const owned = stack.move();
  return { ...stores, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
