// The supervisor: the process beside the agent that runs what people ask for in this sprite, with rights of its own. It holds pipes,
// terminals, logs and exit codes, and outlives a restart of the agent. It serves on a socket that only the agent can open.
import type { Server } from 'node:http';
import { appEnvironmentOperations } from '../contract/local/app-environment.ts';
import { localServiceOperations } from '../contract/local/inside.ts';
import { supervisorPolicyOperations } from '../contract/local/program-policy.ts';
import type { Log } from '../core/log.ts';
import { createEdge } from '../http/edge.ts';
import { type AgentListen, listenForAgent } from '../http/listen-for-agent.ts';
import type { UnixUser } from '../linux/users.ts';
import { AppEnvironment } from './environment/app-environment.ts';
import { mapFileError } from './files/file-error.ts';
import { rawFileOperations } from './files/raw-file-operations.ts';
import { createLazyModule } from './lazy-module.ts';
import { Restraints } from './policy/restraints.ts';
import { LeftGroups } from './processes/left-groups.ts';
import { supervisedProcessOperations } from './processes/supervised-operations.ts';
import { hasServices } from './services/service-store.ts';
import { type SupervisorCaller, toSupervisorCaller } from './supervisor-caller.ts';

export interface SupervisorOptions extends AgentListen {
  /** Definitions and logs are kept there. */
  readonly stateDir: string;
  /** Who runs the programs, and reads and writes the files. */
  readonly user: UnixUser;
  /** What every program gets of the environment, before its own variables. */
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly log: Log;
  /** How long it waits without a call, and with nothing that runs, before `idle` resolves. */
  readonly idle_ms: number;
}

export interface RunningSupervisor extends AsyncDisposable {
  /** Resolves when nothing needs this process: the next call starts it again. */
  readonly idle: Promise<void>;
}

const DRAIN_MS = 2_000;

/** Throws ListenError when the socket cannot be opened; nothing runs then. */
export async function openSupervisor(options: SupervisorOptions): Promise<RunningSupervisor> {
  const { log, stateDir } = options;
  await using stack = new AsyncDisposableStack();
  const environment = new AppEnvironment({ stateDir });
  const restraints = new Restraints(options);
  const inside = { ...options, environment, restraints };
  const services = stack.use(
    createLazyModule(localServiceOperations, async () => (await import('./services/services.ts')).openServices(inside)),
  );
  const files = stack.use(
    createLazyModule(rawFileOperations, async () => (await import('./files/files.ts')).openFiles(options)),
  );
  const processes = stack.use(
    createLazyModule(supervisedProcessOperations, async () =>
      (await import('./processes/processes.ts')).openProcesses(inside),
    ),
  );
  const modules = [services, files, processes];
  const operations = {
    ...localServiceOperations,
    ...rawFileOperations,
    ...supervisedProcessOperations,
    ...appEnvironmentOperations,
    ...supervisorPolicyOperations,
  };
  const edge = createEdge<typeof operations, SupervisorCaller>({
    operations,
    handlers: {
      ...services.handlers,
      ...files.handlers,
      ...processes.handlers,
      setAppEnvironment: ({ body }) => environment.set(body),
      setProgramPolicy: ({ body }) => restraints.set(body),
    },
    mapError: mapFileError,
    authenticate: (request) => toSupervisorCaller(request),
    log,
  });
  stack.defer(() => edge.drain(DRAIN_MS));
  const server = edge.createServer('supervisor');
  stack.use(await listenForAgent(server, options));
  // systemd ends all of the unit with this process, what commands have left in the background too.
  const left = options.inherited.length > 0 ? new LeftGroups() : undefined;
  const isBusy = () => left?.hasProcesses() === true || modules.some((module) => module.isBusy);
  const idle = stack.use(watchIdle(server, isBusy, options.idle_ms));
  if (hasServices(stateDir)) {
    // Each call about services gets the same error; programs and files work without them.
    await services.open().catch((err: unknown) => log.error({ err }, 'the services cannot be started'));
  }
  const running = stack.move();
  return { idle: idle.resolved, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** `resolved` resolves once there was neither a connection nor anything busy for `limit_ms`. */
function watchIdle(server: Server, isBusy: () => boolean, limit_ms: number): Disposable & { resolved: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let connections = 0;
  let quiet_ms = 0;
  const tick_ms = Math.max(10, limit_ms / 10);
  server.on('connection', (socket) => {
    connections += 1;
    quiet_ms = 0;
    socket.once('close', () => {
      connections -= 1;
    });
  });
  const timer = setInterval(() => {
    quiet_ms = connections > 0 || isBusy() ? 0 : quiet_ms + tick_ms;
    if (quiet_ms >= limit_ms) resolve();
  }, tick_ms);
  return { resolved: promise, [Symbol.dispose]: () => clearInterval(timer) };
}
