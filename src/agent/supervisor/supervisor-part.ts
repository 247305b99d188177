// The operations of services, files and processes at the agent: each is passed on to the supervisor, which has the rights to carry it
// out. What reaches the supervisor is loaded by the first call that needs it.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { LaneOperation } from '../../contract/channel.ts';
import { insideOperations } from '../../contract/local/inside.ts';
import { InnerHeaders } from '../../core/http/inner-headers.ts';
import type { InsideWork } from '../../core/idle/inside-work.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { AS_ROOT_ALLOWED, AS_ROOT_HEADER, SERVICES_FILE } from '../../core/supervisor-wire.ts';
import type { EdgeHandlers } from '../../http/handler.ts';
import { PassOn } from '../../http/pass-on.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import { mayChangeUser } from '../../linux/processes/capabilities.ts';
import type { Caller } from '../access/authenticator.ts';
import { createLazySecrets, type LazySecretsOptions, type SecretsWay } from '../app-secrets/lazy-secrets.ts';
import type { Part } from '../parts.ts';
import type { ProcessLink } from '../process-link.ts';
import { isHurtByCut, isWork, mayStart } from './call-kinds.ts';
import { InsideCalls } from './inside-calls.ts';
import { findSupervisor } from './read-supervisor.ts';
import type { RunGate } from './run-gate.ts';
import { type PortSight, ServiceOfPort, type ServiceRefusal } from './service-of-port.ts';
import { SessionWatch } from './session-watch.ts';
import { whyOff } from './why-off.ts';

export interface SupervisorPartOptions {
  readonly config: {
    readonly socket: string;
    readonly socketMode: number;
    readonly socketRoot: boolean;
    readonly supervisorSocket: string | undefined;
    readonly stateDir: string;
    readonly user: string | undefined;
    readonly home: string | undefined;
    readonly logLevel: string;
  } & LazySecretsOptions['config'];
  readonly env: NodeJS.ProcessEnv;
  /** The user of the agent. */
  readonly uid: number;
  readonly log: Log;
  readonly part: Part;
  readonly secrets: SecretsWay;
  readonly gate: RunGate;
}

export interface SupervisorPart extends AsyncDisposable {
  readonly handlers: EdgeHandlers<typeof insideOperations, Caller>;
  /** Call it when the secrets of the app may have changed. Never waits. */
  onSecretsChanged(): void;
  /** Starts the supervisor when services are defined: after a boot they are started, and after a restart of the agent it runs already. */
  start(): void;
  /** Every call that must not be cut off, by whichever listener it came, and every connection to a port. */
  readonly inFlight: InsideCalls;
  /** Counts a call that comes over a lane until its disposal. */
  beginLane(operation: LaneOperation): Disposable;
  /** Whether a call that is not over a lane came within the last tenth of a second. */
  readonly isCalled: boolean;
  /** The way to the supervisor, for calls of the agent's own, however long programs may not run. Throws `not_configured` and `start_failed`. */
  openLink(): Promise<ProcessLink>;
  /** A connection to the supervisor, which it starts. Throws `not_configured` and `start_failed`. */
  connect(): Promise<Duplex>;
  /** Counts a connection from outside to a port until its disposal. */
  beginPort(port: number): Disposable;
  /** What others do in this machine from outside, with the processes as of the last `look`. */
  work(): InsideWork;
  /** Waits for the service of a port at which nobody listens. */
  waitForService(port: number, ports: PortSight): Promise<ServiceRefusal | undefined>;
  /** The port of the service with an `http_port`, or the one that is expected without. */
  findHttpPort(): Promise<number>;
  /** Asks the supervisor which processes run. Never rejects. */
  look(): Promise<void>;
}

const ROOT = 0;
const OWNER_ONLY = 0o600;
const asRoot = new InnerHeaders([AS_ROOT_HEADER, AS_ROOT_ALLOWED]);
const asUser = new InnerHeaders();
/** The largest body: a file is streamed, and its size is limited by the disk. */
const NO_CAP = Number.MAX_SAFE_INTEGER;
const CALLED_MS = 100;
const NOT_STARTED = 'the services are not started';

export function createSupervisorPart(options: SupervisorPartOptions): SupervisorPart {
  const { config, uid, log, part, gate } = options;
  const path = config.supervisorSocket ?? join(dirname(config.socket), 'supervisor.sock');
  let link: Promise<ProcessLink> | undefined;
  let called_ms = Number.NEGATIVE_INFINITY;

  const secrets = createLazySecrets({
    ...options.secrets,
    ...{ config, log },
    supervisor: () => findSupervisor(config.stateDir),
    async send(method, target, json) {
      const { statusCode, body } = await (await open()).send(method, target, json);
      await body.dump();
      return statusCode;
    },
  });
  const calls = new InsideCalls();
  const inFlight = new InsideCalls();
  const why = () => (link === undefined ? whyOff(config.user, uid) : undefined);
  const sessions = new SessionWatch({
    stateDir: config.stateDir,
    link: async () => (why() === undefined ? await open() : undefined),
  });

  const hasServices = () => existsSync(join(config.stateDir, SERVICES_FILE));
  const services = new ServiceOfPort({ link: async () => (hasServices() ? await open() : undefined) });

  async function open(pass = gate.passInTime): Promise<ProcessLink> {
    const off = why();
    if (off !== undefined) throw new RemoraError('not_configured', off);
    await pass();
    link ??= openLink(options, path, secrets.reconcile);
    return await link;
  }

  /** They wait for the secrets of the app in the supervisor. */
  async function startServices(signal: AbortSignal): Promise<void> {
    await gate.passAtLast(signal, (err) => log.error({ err }, NOT_STARTED));
    const opened = await open();
    await secrets.begin();
    await Promise.all([opened.open(), secrets.settle()]);
  }

  function beginBoth(owner: string): Disposable {
    const counted = new DisposableStack();
    for (const each of [calls, inFlight]) counted.use(each.begin(owner));
    return counted;
  }

  /** Callers over the channel have full access to the organization; at the socket its mode says who comes. */
  function mayActAsRoot({ listener }: Caller): boolean {
    if (listener === 'channel') return true;
    return config.socketRoot || (uid === ROOT && config.socketMode === OWNER_ONLY);
  }

  const pass: PassOn<Caller>['run'] = async ({ request, principal, upgrade }, response) => {
    const { dispatcher } = await open();
    const { streamExchange } = await import('../../http/streaming-proxy.ts');
    const tunnel = toTunnel(request, upgrade, 0);
    await streamExchange(request, response, {
      dispatcher: () => dispatcher,
      origin: 'http://supervisor',
      path: request.url ?? '/',
      headers: mayActAsRoot(principal) ? asRoot : asUser,
      from: 'supervisor',
      bodyCap_bytes: NO_CAP,
      ...(tunnel === undefined ? {} : { tunnel }),
    });
  };
  const runOverHttp: PassOn<Caller>['run'] = async ({ request }, response) => {
    const { connect } = await open();
    // Few agents are asked for it: the WebSocket client is loaded by the first call.
    const { execOverWebSocket } = await import('../../http/exec-over-websocket.ts');
    await execOverWebSocket(request, response, { connect, path: '/v1/exec', from: 'supervisor' });
  };
  const toPassOn = (id: keyof typeof insideOperations) =>
    new PassOn<Caller>(async (call, response) => {
      called_ms = performance.now();
      using _ = isWork(id, call.principal) ? calls.begin(id) : undefined;
      using __ = isHurtByCut(id) ? inFlight.begin(id) : undefined;
      if (mayStart(id)) {
        await open();
        await secrets.settle();
      }
      await (id === 'execOverHttp' ? runOverHttp : pass)(call, response);
    });
  const ids = Object.keys(insideOperations) as (keyof typeof insideOperations)[];
  const handlers = Object.fromEntries(ids.map((id) => [id, toPassOn(id)]));
  return {
    inFlight,
    get isCalled() {
      return performance.now() - called_ms < CALLED_MS;
    },
    onSecretsChanged: () => secrets.changed(),
    beginLane: (operation) => beginBoth(operation),
    openLink: () => open(gate.pass),
    connect: async () => await (await open()).connect(),
    beginPort: (port) => beginBoth(`port ${port}`),
    work: () => ({ open: calls.open, total: calls.total + sessions.changes, sessions: sessions.reading }),
    waitForService: (port, ports) => services.wait(port, ports),
    findHttpPort: () => services.findHttpPort(),
    look: () => sessions.look(),
    handlers: handlers as unknown as SupervisorPart['handlers'],
    start() {
      const off = why();
      // Nobody misses anything where there are no services.
      if (off === undefined) part.set('ok');
      else part.set(config.user === undefined && !hasServices() ? 'off' : 'degraded', off);
      if (!hasServices()) return;
      const { signal } = options.secrets;
      startServices(signal).catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, NOT_STARTED);
      });
    },
    async [Symbol.asyncDispose]() {
      await (await link)?.[Symbol.asyncDispose]();
    },
  };
}

/** An agent in its own unit cannot start a supervisor that is of any use. */
function noRights(path: string): RemoraError {
  const message = `nothing serves at ${path}, and the agent has no right to run programs as other users`;
  return new RemoraError('start_failed', `${message}; run \`systemctl enable --now remora-supervisor.socket\``);
}

async function openLink(
  { config, env, uid, part }: SupervisorPartOptions,
  path: string,
  onConnected: () => void,
): Promise<ProcessLink> {
  const { createProcessLink } = await import('../process-link.ts');
  return createProcessLink({
    name: 'supervisor',
    logFile: 'supervisor/supervisor.log in the state directory',
    path,
    onDialled(failure) {
      if (failure === undefined) {
        part.set('ok');
        onConnected();
      } else part.set('degraded', failure.message);
    },
    async start() {
      if (uid === ROOT && !mayChangeUser()) throw noRights(path);
      const { startSupervisor } = await import('./start-supervisor.ts');
      const { socket: agentSocket, stateDir, user, home, logLevel } = config;
      startSupervisor({ path, agentSocket, stateDir, user, home, logLevel, env });
    },
  });
}
