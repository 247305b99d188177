// The process that enforces the network policy of a sprite, beside the agent: the only one that may change the packet filter. It serves on a
// socket that only the agent can open. What it has put into the kernel holds on without it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { networkOperations } from '../contract/local/network.ts';
import type { Log } from '../core/log.ts';
import { isBlockedAddress } from '../core/network-policy/blocked-addresses.ts';
import { createEdge } from '../http/edge.ts';
import { type AgentListen, listenForAgent } from '../http/listen-for-agent.ts';
import { makeDirectory } from '../linux/make-directory.ts';
import { createSocketTables } from '../linux/sockets/socket-tables.ts';
import { findAskingProcess } from './asking-process.ts';
import { openDnsFront } from './dns/dns-front.ts';
import { createResolver } from './dns/resolver.ts';
import { endRefused } from './end-connections.ts';
import { Enforcement } from './enforcement.ts';
import { readKeptState, readLastGeneration, writeKeptState, writeLastGeneration } from './kept-state.ts';
import { hasZones, NetfilterError, openNetfilter } from './netfilter.ts';
import { PacketFilter } from './packet-filter.ts';
import { readRefusedAddresses } from './refused-addresses.ts';
import { createUnableHandlers, type PolicyHandlers } from './unable-handlers.ts';
import { readUplinks } from './uplinks.ts';
import { readUpstreams } from './upstreams.ts';

export interface NetworkOptions extends AgentListen {
  /** What holds is kept there, for the process that comes after this one. */
  readonly stateDir: string;
  /** Name servers in the place of those of /etc/resolv.conf. */
  readonly upstreams: readonly string[];
  /** Of this program. */
  readonly version: string;
  readonly log: Log;
  readonly idle_ms: number;
}

export interface RunningNetwork extends AsyncDisposable {
  /**
   * Resolves when nothing is restricted and nobody has asked for a while, and when a program of another version is to take over: the next call
   * starts this process again.
   */
  readonly over: Promise<void>;
}

/** How often the rules of the kernel and the network of the machine are looked at. */
const LOOK_MS = 2_000;
/** What an answer needs to leave before its connection ends. */
const ANSWER_MS = 100;

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
    const unable = { handlers: createUnableHandlers(netfilter.message), isNeeded: () => false, leave: () => undefined };
    return await serve(unable, options, stack.move());
  }
  stack.use(netfilter);
  const filter = new PacketFilter(netfilter, left?.generation ?? readLastGeneration(stateDir));
  const has_zones = hasZones(netfilter);
  let dnsPort = 0;
  const enforcement = new Enforcement({
    filter,
    readFacts: () => ({
      uid: process.getuid?.() ?? 0,
      dns_port: dnsPort,
      has_zones,
      upstreams: options.upstreams.length > 0 ? options.upstreams : readUpstreams(),
      uplinks: readUplinks(),
    }),
    async endConnections(isAllowed) {
      const tables = createSocketTables('/proc');
      try {
        const listeners = await tables.listeners(() => nextTurn());
        const listening = new Set(listeners.map(({ port }) => port));
        const ended = await endRefused({ isAllowed, listening });
        if (ended > 0)
          log.info({ connections: ended }, 'connections were ended that the network policy does not allow');
      } catch (err) {
        log.warn({ err }, 'idle connections that the network policy does not allow end only when something is sent');
      } finally {
        tables[Symbol.dispose]();
      }
    },
    listRefusedAddresses: () => (!filter.isRestricted ? [] : readRefusedAddresses(netfilter, Date.now())),
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
  const front = stack.use(await openDnsFront(resolver, left?.dns_port));
  dnsPort = front.port;

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

  if (isLeft) {
    enforcement.book.restore(left.addresses);
    await enforcement.adopt(left.given);
    log.info({ rules: left.given.rules.length }, 'the network policy that held before is enforced');
  }
  let isLeaving = false;
  stack.defer(() => {
    if (!isLeaving) keep();
  });

  const look = setInterval(() => {
    enforcement.keepWhole().then(
      (found) => {
        if (found === 'put back')
          log.warn({}, 'somebody had changed the rules of the network policy; they are put back');
        else if (found === 'renewed')
          log.info({ name_servers: filter.upstreams }, 'the network policy follows a change of the machine’s network');
      },
      (err: unknown) => log.error({ err }, 'the rules of the network policy cannot be kept as they should be'),
    );
  }, LOOK_MS);
  stack.defer(() => clearInterval(look));

  const handlers: PolicyHandlers = {
    async enforceNetwork({ body }) {
      const state = await enforcement.enforce(body);
      keep();
      return state;
    },
    readNetwork: async () => enforcement.state(),
    explainNetwork: async ({ body }) => enforcement.explain(body),
    listRefusedNetwork: async () => ({ refused: enforcement.listRefused() }),
  };
  /** The process that comes after this one may begin before this one has ended. */
  function leave(): void {
    clearInterval(look);
    keep();
    isLeaving = true;
  }
  return await serve({ handlers, isNeeded: () => filter.isRestricted, leave }, options, stack.move());
}

interface Served {
  readonly handlers: PolicyHandlers;
  /** Whether this process has to run although nobody asks. */
  readonly isNeeded: () => boolean;
  /** From then on it changes nothing any more. */
  readonly leave: () => void;
}

/** Ends with what it is given. */
async function serve(
  { handlers, isNeeded, leave }: Served,
  options: NetworkOptions,
  below: AsyncDisposableStack,
): Promise<RunningNetwork> {
  await using stack = below;
  const { log, idle_ms, version } = options;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let asked_ms = performance.now();
  const edge = createEdge<typeof networkOperations, null>({
    operations: networkOperations,
    handlers: {
      ...handlers,
      yieldNetwork({ body }) {
        const ends = body.version !== version;
        if (ends) {
          log.info({ version: body.version }, 'a process of another version takes over');
          leave();
          setTimeout(resolve, ANSWER_MS);
        }
        return { ends, pid: process.pid };
      },
    },
    authenticate: () => {
      asked_ms = performance.now();
      return null;
    },
    log,
  });
  stack.defer(() => edge.drain(0));
  const server = edge.createServer('network');
  stack.use(await listenForAgent(server, options));

  const watch = setInterval(() => {
    if (!isNeeded() && performance.now() - asked_ms >= idle_ms) resolve();
  }, idle_ms / 10);
  stack.defer(() => clearInterval(watch));
  const running = stack.move();
  return { over, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
