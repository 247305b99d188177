// The process that enforces the network policy of a sprite, beside the agent: the only one that may change the packet filter. It serves on a
// socket that only the agent can open. What it has put into the kernel holds on without it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '../core/log.ts';
import { isBlockedAddress } from '../core/network-policy/blocked-addresses.ts';
import { RemoraError } from '../core/remora-error.ts';
import { makeDirectory } from '../linux/make-directory.ts';
import { createSocketTables } from '../linux/sockets/socket-tables.ts';
import { findAskingProcess } from './asking-process.ts';
import { createAttempts } from './attempts.ts';
import { openFrontAgain } from './dns/open-front.ts';
import { createResolver } from './dns/resolver.ts';
import { endRefused } from './end-connections.ts';
import { Enforcement } from './enforcement.ts';
import { readKeptState, readLastGeneration, writeKeptState, writeLastGeneration } from './kept-state.ts';
import { hasZones, NetfilterError, openNetfilter } from './netfilter.ts';
import { PacketFilter } from './packet-filter.ts';
import { createPolicyHandlers } from './policy-handlers.ts';
import { readRefusedAddresses } from './refused-addresses.ts';
import { type RunningNetwork, type ServeOptions, serveNetwork } from './serve-network.ts';
import { createUnableHandlers } from './unable-handlers.ts';
import { readUplinks } from './uplinks.ts';
import { readUpstreams } from './upstreams.ts';

export interface NetworkOptions extends ServeOptions {
  /** What holds is kept there, for the process that comes after this one. */
  readonly stateDir: string;
  /** Name servers in the place of those of /etc/resolv.conf. */
  readonly upstreams: readonly string[];
}

/** How often the rules of the kernel and the network of the machine are looked at. */
const LOOK_MS = 2_000;
/** How long the port of the process before is waited for: the agent answers there until it hears of this one. */
const PORT_MS = 5_000;
const ENDED = new RemoraError('shutting_down', 'what enforces the network policy is ending; try again');

/**
 * Where no rules can be enforced, it serves what is missing: no policy is taken. Rejects with NetfilterError where rules that held before
 * cannot be enforced, and with ListenError when the socket cannot be opened.
 */
export async function openNetwork(options: NetworkOptions): Promise<RunningNetwork> {
  const { log, stateDir } = options;
  await using stack = new AsyncDisposableStack();
  makeDirectory(stateDir, 0o700);
  const left = readKeptState(stateDir);
  const isLeft = left !== undefined && left.generation > 0;
  const netfilter = await openNetfilter().catch((error: unknown) => {
    if (isLeft || !(error instanceof NetfilterError)) throw error;
    return error;
  });
  if (netfilter instanceof NetfilterError) {
    log.warn({ err: netfilter }, 'no network policy can be enforced here');
    const handlers = createUnableHandlers(netfilter.message);
    return await serveNetwork({ handlers, isNeeded: () => false, leave: async () => undefined }, options);
  }
  stack.use(netfilter);
  const filter = new PacketFilter(netfilter, left?.generation ?? readLastGeneration(stateDir));
  const has_zones = hasZones(netfilter);
  let dnsPort = left?.dns_port ?? 0;
  const attempts = stack.use(createAttempts(log));
  const enforcement = new Enforcement({
    ...{ filter, attempts },
    readFacts: () => ({
      uid: process.getuid?.() ?? 0,
      dns_port: dnsPort,
      has_zones,
      upstreams: options.upstreams.length > 0 ? options.upstreams : readUpstreams(),
      uplinks: readUplinks(),
    }),
    endConnections: (isAllowed) => endConnections(isAllowed, log),
    listRefusedAddresses: () => (!filter.isRestricted ? [] : readRefusedAddresses(netfilter, attempts, Date.now())),
    now_ms: () => Date.now(),
  });
  const resolver = createResolver({
    policy: () => enforcement.namePolicy,
    isBlockedFor: (name) => (enforcement.isExempt(name) ? () => false : isBlockedAddress),
    servers: () => filter.upstreams.map((address) => ({ address })),
    findDeniedAlias: (name, aliases) => enforcement.findDeniedAlias(name, aliases),
    learn: (name, aliases, opened) => enforcement.learn(name, aliases, opened),
    onRefused: (name, asker) => enforcement.refuse(name, () => findAskingProcess(asker.transport, asker.port)),
  });
  /** Names are resolved, and what held before is enforced. */
  const ready = Promise.withResolvers<void>();
  const isReady = ready.promise.then(
    () => true,
    () => false,
  );

  function keep(): void {
    // First: what is left without the other file is the generation of a policy that holds no more.
    writeLastGeneration(stateDir, filter.generation);
    writeKeptState(stateDir, {
      given: enforcement.given,
      generation: filter.isRestricted ? filter.generation : 0,
      dns_port: dnsPort,
      addresses: enforcement.book.toJSON(),
    });
  }

  let isLeaving = false;
  /** The process that comes after this one may begin before this one has ended. */
  async function leave(): Promise<number | undefined> {
    await ready.promise;
    clearInterval(look);
    keep();
    isLeaving = true;
    return filter.isRestricted ? dnsPort : undefined;
  }

  // Who asks at the socket hears at once that this process is there, and makes way at the port of the resolver.
  await using door = new AsyncDisposableStack();
  const handlers = createPolicyHandlers({ enforcement, ready: ready.promise, dnsPort: () => dnsPort, keep });
  const { over } = door.use(await serveNetwork({ handlers, isNeeded: () => filter.isRestricted, leave }, options));
  door.defer(() => ready.reject(ENDED));
  const front = await openFrontAgain(
    async (...question) => ((await isReady) ? await resolver(...question) : undefined),
    dnsPort,
    PORT_MS,
  );
  stack.use(front);
  dnsPort = front.port;
  if (isLeft) {
    enforcement.book.restore(left.addresses);
    await enforcement.adopt(left.given);
    log.info({ rules: left.given.rules.length }, 'the network policy that held before is enforced');
  }
  stack.defer(() => {
    if (!isLeaving) keep();
  });
  const look = setInterval(() => void keepWhole(enforcement, filter, log), LOOK_MS);
  stack.defer(() => clearInterval(look));
  ready.resolve();

  const running = new AsyncDisposableStack();
  running.use(stack.move());
  // First: nobody asks for anything any more.
  running.use(door.move());
  return { over, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function endConnections(isAllowed: (address: string, port: number) => boolean, log: Log): Promise<void> {
  const tables = createSocketTables('/proc');
  try {
    const listeners = await tables.listeners(() => nextTurn());
    const listening = new Set(listeners.map(({ port }) => port));
    const ended = await endRefused({ isAllowed, listening });
    if (ended > 0) log.info({ connections: ended }, 'connections were ended that the network policy does not allow');
  } catch (err) {
    log.warn({ err }, 'idle connections that the network policy does not allow end only when something is sent');
  } finally {
    tables[Symbol.dispose]();
  }
}

/** Never rejects. */
async function keepWhole(enforcement: Enforcement, filter: PacketFilter, log: Log): Promise<void> {
  try {
    const found = await enforcement.keepWhole();
    if (found === 'put back') log.warn({}, 'somebody had changed the rules of the network policy; they are put back');
    else if (found === 'renewed')
      log.info({ name_servers: filter.upstreams }, 'the network policy follows a change of the machine’s network');
  } catch (err) {
    log.error({ err }, 'the rules of the network policy cannot be kept as they should be');
  }
}
