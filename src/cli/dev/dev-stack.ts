// Opens everything that `remora dev` runs, from top to bottom, and closes it in the reverse order.
import { join } from 'node:path';
import { pino } from 'pino';
import { createClient } from '../../client/client.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import { Agent } from '../../http/undici.ts';
import type { QemuSettings } from '../../platform/machines/drivers/qemu/qemu-settings.ts';
import { createPlatformLog } from '../../platform/observability/platform-log.ts';
import { openPlatform } from '../../platform/platform.ts';
import type { UserWithPassword } from '../../platform/users/user-service.ts';
import { openDoor } from '../inside/sprite-door.ts';
import { INSTALLED_SOCKET } from '../socket-path.ts';
import { awaitAgent } from './await-agent.ts';
import { type DatabaseNode, openDatabaseNode } from './database-node/database-node.ts';
import { openDevDir, openSocketPlace } from './dev-dir.ts';
import { beginSample } from './dev-extension.ts';
import type { DevPlaces } from './dev-guide.ts';
import { type DevRecord, writeDevRecord, writeHeaderFile } from './dev-record.ts';
import { DEV_SPRITE, seedPlatform, toDevCatalogue } from './dev-seed.ts';
import { openMachineSocket } from './machine-socket.ts';
import { openSampleExtension } from './sample-extension/open-sample-extension.ts';
import { openSampleProvider } from './sample-provider.ts';
import { openVaultKeyFile } from './vault-key-file.ts';
import { type WatchMachineOptions, watchMachine } from './watch-machine.ts';

export interface DevOptions {
  /** The directory; undefined = the default one, which is removed at the end. */
  readonly dir: string | undefined;
  /** The port of the platform; the node, the provider, the extension provider and the proxy take the next four if these are free. 0 = free ports for all. */
  readonly port: number;
  readonly interval_ms: number;
  /** The machine is a virtual one, as these settings say; a process of this host when absent. */
  readonly qemu?: QemuSettings | undefined;
  /** How long a sprite is without work until it is suspended; never when absent: the machine of the tour stays as it is. */
  readonly spriteIdle_ms?: number | undefined;
  /** The program that a machine runs. */
  readonly agentCommand: { readonly command: string; readonly args: readonly string[] };
  readonly version: string;
  /** Aborting it stops the start. */
  readonly signal: AbortSignal;
  /** Called with messages for people while it runs. */
  readonly print: (message: string) => void;
}

export interface DevStack extends AsyncDisposable {
  readonly record: DevRecord;
  readonly places: DevPlaces;
}

/** The loopback listener of the agent, on a free port: `remora env` and SDKs without Unix sockets then work without a setting. */
const AGENT_LISTEN = '127.0.0.1:0';
/** How long the agent may take until its first answer, and then until none of its parts is starting. */
const AGENT_LIMIT_MS = 30_000;
/** An emulated processor starts three programs for the first answer. */
const EMULATED_AGENT_LIMIT_MS = 240_000;
const SETTLE_MS = 5_000;
/** How far the printed transaction id is ahead, so that a pasted wait lasts a moment and then succeeds. */
const TXID_AHEAD = 10;
const REPLICA = { role: 'replica', hostname: 'db-primary:20202' } as const;

/**
 * Resolves when the agent answers and dev.json is written. The node begins as a replica: a primary may not be suspended
 * unforced. Throws when the directory or the port is taken.
 */
export async function openDevStack(options: DevOptions): Promise<DevStack> {
  const { port, print, signal, qemu } = options;
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(openDevDir(options.dir));
  const path = dir.path;
  const socket = stack.use(openSocketPlace(path, () => randomHex(4)));
  const provider = stack.use(await onPort(port, 2, (free) => openSampleProvider({ port: free })));
  const sample = stack.use(await onPort(port, 3, (free) => openSampleExtension({ port: free })));
  const node = stack.use(
    await onPort(port, 1, (free) =>
      openDatabaseNode({
        dir: join(path, 'node'),
        port: free,
        interval_ms: options.interval_ms,
        role: REPLICA,
        log: (message) => print(`database node: ${message}`),
      }),
    ),
  );

  const platformLog = join(path, 'platform.log');
  const destination = stack.adopt(openLogFile(platformLog), (file) => file.end());
  const platform = stack.use(
    await openPlatform({
      dir: join(path, 'platform'),
      keys: [openVaultKeyFile(join(path, 'vault.key'))],
      listen: { host: '127.0.0.1', port },
      agentCommand: {
        ...options.agentCommand,
        // Two agents cannot have one socket: every other sprite has the one in the directory of its machine.
        env: ({ app, sprite }) => ({
          REMORA_LISTEN: AGENT_LISTEN,
          ...(app === DEV_SPRITE.organization && sprite === DEV_SPRITE.sprite ? { REMORA_SOCKET: socket.path } : {}),
        }),
      },
      nodeUrl: node.url,
      catalogue: toDevCatalogue(provider.url),
      ...toMachineOptions(options),
      proxy: { listen: { host: '127.0.0.1', ...toPort(port, 4), mayMove: true } },
      version: options.version,
      log: createPlatformLog('info', destination),
    }).catch((error: unknown) => {
      throw isTaken(error)
        ? new Error(`port ${port} is in use; choose another with --port N, or --port 0 for a free one`)
        : error;
    }),
  );
  const pool = new Agent();
  stack.defer(() => pool.destroy());
  const clientFor = (token: Secret) =>
    createClient(platformOperations, {
      origin: platform.url,
      dispatcher: () => pool,
      headers: () => ({ authorization: `Bearer ${token.reveal()}` }),
    });
  const seeded = await seedPlatform({
    admin: platform.admin,
    providerUrl: provider.url,
    deleteConnector: (token, id) => clientFor(token).call('deleteConnection', { params: { id } }),
  });

  const { admin, url: platformUrl } = platform;
  const extension_provider = await beginSample({ admin, sample, path, platformUrl, print });

  const limit_ms = qemu === undefined ? AGENT_LIMIT_MS : EMULATED_AGENT_LIMIT_MS;
  const machine = await platform.admin.readMachine(DEV_SPRITE);
  const agentLog = join(machine.dir, 'agent.log');
  // An agent left by a killed run still has the addresses of that run.
  await platform.admin.stopMachine(DEV_SPRITE);
  if (qemu !== undefined) print('a virtual machine boots, which takes a minute where its processor is emulated');
  const starting = platform.admin.startMachine(DEV_SPRITE);
  await unlessAborted(starting, signal)
    .then(() => qemu && openSocketOf(stack, { path: socket.path, url: platform.url, token: seeded.token, print }))
    .then(() => awaitAgent(socket.path, { limit_ms, settle_ms: SETTLE_MS, signal }))
    .catch((error: unknown) => {
      throw new Error(`${toErrorMessage(error)}; its log is ${agentLog}`, {
        cause: error,
      });
    });

  const record: DevRecord = {
    socket: socket.path,
    platform_url: platform.url,
    token: seeded.token.reveal(),
    sprite_token: seeded.spriteToken.reveal(),
    sprite: DEV_SPRITE.sprite,
    sprite_url: (await platform.admin.findSprite(DEV_SPRITE))?.url ?? '',
    app: machine.app,
    machine: machine.id,
    node_url: node.url,
    user: toUserEntry(seeded.user),
    connectors: seeded.connectors,
    extension_provider,
  };
  const headerFile = join(path, 'authorization.header');
  stack.use(writeHeaderFile(headerFile, record.token));
  stack.use(writeDevRecord(path, record));

  const { app, id } = machine;
  keepWatch(stack, { client: clientFor(seeded.token), app_name: app, machine_id: id, agentLog, print });

  const places: DevPlaces = {
    dir: path,
    providerUrl: provider.url,
    databasePath: node.databasePath,
    agentLog,
    platformLog,
    headerFile,
    isVirtual: qemu !== undefined,
    program: new URL('../../../bin/remora', import.meta.url).pathname,
    nextTxid: toHex(node, TXID_AHEAD),
  };
  const opened = stack.move();
  return { record, places, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function toMachineOptions({ qemu, spriteIdle_ms }: DevOptions) {
  const common = { endMachines: true, idle: { sprite_ms: spriteIdle_ms } };
  return qemu === undefined ? { ...common, trustMachines: true } : { ...common, qemu };
}

function toUserEntry({ user, password }: UserWithPassword): DevRecord['user'] {
  return { email: user.email, password: password.reveal(), user_id: user.id };
}

interface Watched extends Pick<WatchMachineOptions, 'client' | 'app_name' | 'machine_id'> {
  readonly agentLog: string;
  readonly print: DevOptions['print'];
}

function keepWatch(stack: AsyncDisposableStack, { agentLog, print, ...machine }: Watched): void {
  const ending = new AbortController();
  const watching = watchMachine({
    ...machine,
    signal: ending.signal,
    onStop: () => print(`the machine has stopped and its socket is gone; the last lines of ${agentLog} say why`),
    onRun: () => print('the machine runs again'),
  });
  stack.defer(async () => {
    ending.abort();
    await watching;
  });
}

interface MachineSocket {
  readonly path: string;
  readonly url: string;
  readonly token: Secret;
  readonly print: DevOptions['print'];
}

async function openSocketOf(stack: AsyncDisposableStack, { path, url, token, print }: MachineSocket): Promise<void> {
  const { sprite } = DEV_SPRITE;
  const prefix = `/v1/sprites/${sprite}`;
  const door = stack.use(openDoor({ sprite, origin: url, socketPath: undefined, prefix, token, headers: {} }));
  const onFailure = (error: unknown) => print(`the agent in the machine cannot be reached: ${toErrorMessage(error)}`);
  stack.use(await openMachineSocket({ path, agentPath: INSTALLED_SOCKET, door, onFailure }));
}

/** Settles as `promise` does, or rejects as soon as `signal` is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function toHex(node: DatabaseNode, ahead: number): string {
  return (node.changeCounter + ahead).toString(16).padStart(16, '0');
}

function toPort(base: number, offset: number): { readonly port: number } {
  return { port: base === 0 || base + offset > 65_535 ? 0 : base + offset };
}

/** Opens on port `base` + `offset`, or on a free one when that is taken or `base` is 0. */
async function onPort<T>(base: number, offset: number, open: (port: number) => Promise<T>): Promise<T> {
  const { port: wanted } = toPort(base, offset);
  try {
    return await open(wanted);
  } catch (error) {
    if (wanted === 0 || !isTaken(error)) throw error;
    return await open(0);
  }
}

function isTaken(error: unknown): boolean {
  return errorCode(error) === 'address_in_use';
}

/** What is logged after its end is dropped: the last connections of a platform close when it has ended. */
function openLogFile(path: string) {
  const file = pino.destination({ dest: path, mode: 0o600, append: true, sync: true });
  let isOpen = true;
  return {
    write(line: string) {
      if (isOpen) file.write(line);
    },
    end() {
      isOpen = false;
      file.end();
    },
  };
}
