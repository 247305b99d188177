// The daemon put together: construct every part, listen first, start the rest. Read from top to bottom.
import { dirname, join } from 'node:path';
import { agentOperations } from '../contract/agent-operations.ts';
import { systemClock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import { createRunClock } from '../core/run-clock.ts';
import { randomFraction } from '../core/urandom.ts';
import { createEdge } from '../http/edge.ts';
import type { InheritedSocket } from '../http/listen.ts';
import type { Config } from './config/load-config.ts';
import { createDoorkeeper } from './doors.ts';
import { createEventHandlers } from './events/event-handlers.ts';
import { createEventHub } from './events/event-hub.ts';
import { createGateway, type Gateway, gatewayLogSchema, gatewaySchema, gatewayUsageSchema } from './gateway/gateway.ts';
import type { HandedSocket, Parcel } from './handover/parcel.ts';
import { createHoldHandlers } from './holds/hold-handlers.ts';
import { holdsSchema } from './holds/hold-store.ts';
import { createHolds } from './holds/holds.ts';
import { createHooks, HOOKS_DEADLINE_MS } from './hooks/hooks.ts';
import { runPostResume } from './hooks/run-post-resume.ts';
import { createPrimaryChangeHooks } from './hooks/run-primary-change.ts';
import { createIdle } from './idle/idle.ts';
import { openListeners } from './listeners.ts';
import type { Log } from './log.ts';
import { createInterlock } from './machine/interlock.ts';
import { createMachine, type Machine } from './machine/machine.ts';
import { createMachinesApi } from './machine/machines-api.ts';
import { createPartBoard } from './parts.ts';
import { createPorts, type Ports, portsSchema } from './ports/ports.ts';
import { createReplication, type Replication } from './replication/replication.ts';
import { createReport, type Report } from './report/report.ts';
import { createGenerationFile } from './resume/generation-file.ts';
import { createKernel, type Kernel } from './resume/kernel.ts';
import type { LastResume } from './resume/last-resume.ts';
import { createResume, type ResumePart } from './resume/resume.ts';
import { createStaleSockets } from './resume/stale-sockets.ts';
import { createOwnCostMeter } from './status/own-cost.ts';
import { createStatus } from './status/status.ts';
import { openStore } from './store.ts';
import { createUpstream } from './upstream.ts';

export interface AgentOptions {
  readonly config: Config;
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  readonly inherited: readonly InheritedSocket[];
  /** From the former image of this process: this start is a re-exec. */
  readonly parcel?: Parcel | undefined;
  /** Recovered from a resume that may have cloned this machine, and the settings ask for a new process image then. */
  readonly onMaybeCloned?: () => void;
  readonly version: string;
  /** Ends every loop. */
  readonly signal: AbortSignal;
  /** Another machine than this one, for benchmarks. */
  readonly kernel?: Kernel;
  /** Checks every answer against its row, for tests. */
  readonly checkAnswers?: boolean;
}

export interface RunningAgent extends AsyncDisposable {
  /** Where it serves, as people write it: a path, `fd:3`, or `host:port`. */
  readonly addresses: readonly string[];
  /** False from the asking for a suspend until the machine is awake again: what is half done then must not be left. */
  readonly mayHandOver: boolean;
  /** The sockets under descriptors that outlive the servers. Throws when `duplicate` does. */
  duplicateSockets(duplicate: (fd: number) => number): HandedSocket[];
  /**
   * Ends everything but the sockets and what lies in the file system. Nobody is refused: who is connected is answered, who comes
   * later waits in the queue.
   */
  handOver(sockets: readonly HandedSocket[]): Promise<Parcel>;
  /** The process image could not be replaced, and goes on with randomness that a clone may share. */
  tellKept(reason: string): void;
}

/** Opens everything and serves. Throws ListenError when the socket cannot be had; every other trouble is a part's state. */
export async function openAgent(options: AgentOptions): Promise<RunningAgent> {
  const { config, log, parcel, signal } = options;
  const clock = systemClock;
  const random = randomFraction;
  /** What stays in the file system when the image of this process is replaced. */
  await using files = new AsyncDisposableStack();
  await using stack = new AsyncDisposableStack();

  const board = createPartBoard(clock);
  const settings = toSettingsReason(config);
  board.part('settings').set(settings === undefined ? 'ok' : 'degraded', settings);
  const store = stack.use(
    openStore(
      config.stateDir,
      [gatewaySchema, portsSchema, holdsSchema, gatewayUsageSchema, gatewayLogSchema],
      board.part('store'),
    ),
  );
  if (parcel !== undefined) store.life.save(parcel.resume.life);
  const upstream = stack.use(createUpstream({ connect_ms: config.connect_ms }));
  const cost = stack.use(createOwnCostMeter());
  const runClock = createRunClock(clock);
  const hub = createEventHub({
    clock,
    generation: () => resume.generation(),
    sequence: store.sequence,
    kept: parcel?.events,
  });
  const common = { clock, random, hub, upstream, log };

  const resume: ResumePart = stack.use(
    createResume({
      ...common,
      kernel: options.kernel ?? createKernel(),
      part: board.part('resume'),
      lifeStore: store.life,
      handed: parcel?.resume,
      steps: () => [
        ...staleSockets.steps,
        ...report.steps(),
        { name: 'policy', deadline_ms: 2_000, run: () => gateway.onResume() },
        { name: 'stream', deadline_ms: 5_000, run: () => replication.onResume() },
        { name: 'ports', deadline_ms: 1_000, run: () => ports.onResume() },
        {
          name: 'hooks',
          deadline_ms: HOOKS_DEADLINE_MS + 1_000,
          run: () => runPostResume(hooks, resume.lastResume(), board.part('hooks')),
        },
      ],
    }),
  );
  const staleSockets = createStaleSockets({ hub, choice: { ports: config.killPorts, cgroups: config.killCgroups } });
  const generationFile = files.use(
    createGenerationFile(config.generationFile ?? join(dirname(config.socket), 'generation')),
  );
  const identity = () => resume.identityHeaders();
  const report: Report = stack.use(
    createReport({
      ...common,
      config,
      resume,
      holds: () => holds.inForce().map((hold) => hold.name),
      spreadStore: store.reconnectSpread,
      version: options.version,
      onFence: (reason) => machine.setFencedOff(reason),
    }),
  );
  const gateway: Gateway = stack.use(
    createGateway({
      ...common,
      part: board.part('gateway'),
      db: store.db,
      config,
      identity,
      loopback: () => listeners.loopback,
      gate: () => resume.gate.wait(),
      refreshGate: () => resume.gate.wait().then(() => report.mayGoOut()),
    }),
  );
  const ports: Ports = stack.use(
    createPorts({
      ...common,
      part: board.part('ports'),
      noticesPart: board.part('notices'),
      db: store.db,
      config: { ...config, spriteUrl: () => gateway.spriteUrl() },
      identity,
      mayGoOut: report.mayGoOut,
    }),
  );
  const replication: Replication = stack.use(
    createReplication({
      ...common,
      part: board.part('replication'),
      config,
      mayConnect: () => machine.suspender.state !== 'fenced' && !report.isHeldBack,
      onPrimaryChange: (fields) => tellPrimaryChange(fields),
    }),
  );
  const holds = stack.use(createHolds({ clock, runClock, hub, db: store.db, log, check: () => resume.check() }));
  const hooks = createHooks({ directory: config.hooksDir, generation: () => resume.generation() });
  if (config.hooksDir !== undefined) board.part('hooks').set('ok');
  const tellPrimaryChange = createPrimaryChangeHooks(hooks, board.part('hooks'));
  const interlock = createInterlock({
    holds: holds.inForce,
    openStreams: () => gateway.openStreams(),
    isPrimary: () => replication.isPrimary(),
    streams: config.suspendStreams,
  });
  let isHandingOver = false;
  function checkInterlock(force: boolean): void {
    if (isHandingOver) throw new RemoraError('resuming', REPLACING, { retryAfter_ms: 1_000 });
    interlock.check(force);
  }
  const machine: Machine = stack.use(
    createMachine({
      clock,
      hub,
      part: board.part('machine'),
      identity: config,
      api:
        config.machinesApi === undefined
          ? undefined
          : createMachinesApi({ address: config.machinesApi, token: config.token, upstream, identity }),
      sources: { procRoot: '/proc', env: options.env },
      interlock: { ...interlock, check: checkInterlock },
      hooks,
      async settle() {
        store.checkpoint();
        await Promise.all([gateway.settle(), replication.checkpoint()]);
        upstream.retire();
      },
      check: () => resume.check(),
      onFence: (up) => resume.setFence(up),
      generation: () => resume.generation(),
      lastResume: () => resume.lastResume(),
      lastSuspend: parcel?.lastSuspend,
    }),
  );
  const idle = stack.use(
    createIdle({
      ...common,
      runClock,
      config,
      holds: holds.inForce,
      calls: () => gateway.calls(),
      suspendState: () => machine.suspender.state,
      isPrimary: () => replication.isPrimary(),
      ports: () => ports.listening().keys(),
      check: () => resume.check(),
      suspend: (recheck) => machine.suspender.suspend(false, recheck),
    }),
  );
  /** A file that cannot be written costs its watchers, and nobody else. */
  function tellGeneration(): void {
    try {
      generationFile.write(resume.generation());
    } catch (error) {
      log.warn({ err: error }, 'the generation file cannot be written');
    }
  }
  resume.onWake(() => {
    staleSockets.onWake();
    report.onWake();
    tellGeneration();
    runClock.skip(toRunningGap(resume.lastResume()));
    holds.onResume();
    idle.onResume();
    machine.suspender.onWake();
  });
  resume.onRecovered(() => {
    machine.suspender.onRecovered();
    if (config.resumeRng === 'reexec' && resume.mayBeClone()) options.onMaybeCloned?.();
  });

  const status = createStatus({
    version: options.version,
    clock,
    config,
    board,
    cost,
    operations: () => agentOperations,
    live: () => ({
      generation: resume.generation(),
      incarnation: resume.incarnation(),
      state: machine.suspender.state,
      streams: edge.streams,
      seq: hub.seq,
      gatewayCalls: gateway.callCounts(),
      details: {
        ports: ports.status(),
        replication: replication.status(),
        resume: resume.signals(),
        report: report.status(),
        hooks: hooks.describe(),
      },
    }),
  });
  const edge = createEdge({
    operations: agentOperations,
    handlers: {
      ...status,
      ...createEventHandlers(hub),
      ...machine.handlers,
      ...createHoldHandlers(holds),
      ...idle.handlers,
      ...resume.handlers,
      ...gateway.handlers,
      ...ports.handlers,
      ...replication.handlers,
    },
    authenticate: createDoorkeeper({ verifyToken: gateway.verifyToken, onRefused: gateway.onDoorRefusal }),
    until: (caller) => caller.until,
    log,
    ...(options.checkAnswers === undefined ? {} : { checkAnswers: options.checkAnswers }),
  });
  const listeners = files.use(
    await openListeners(edge, config, { inherited: options.inherited, handed: parcel?.sockets }),
  );
  stack.defer(() => edge.drain(config.shutdown_ms));

  cost.start();
  const begun = { version: options.version, pid: process.pid };
  if (parcel === undefined) hub.publish('agent_started', begun);
  else hub.publish('agent_reexecuted', { ...begun, ms: Math.round(clock.wall_ms() - parcel.begun_wall_ms) });
  resume.start(signal);
  if (parcel === undefined) tellGeneration();
  holds.start(parcel?.holds);
  idle.start(signal);
  machine.start();
  report.start(signal);
  await Promise.all([gateway.start(signal), ports.start(signal), replication.start(signal)]);

  const running = stack.move();
  const kept = files.move();
  return {
    addresses: listeners.addresses,
    get mayHandOver() {
      return machine.suspender.state === 'awake';
    },
    duplicateSockets: listeners.duplicate,
    async handOver(sockets) {
      const begun_wall_ms = clock.wall_ms();
      isHandingOver = true;
      const toHandedResume = resume.handOver();
      holds.keepConnections();
      await edge.handOver(HANDOVER_LIMIT_MS, () => {
        void upstream.replace();
      });
      const { last } = machine.suspender;
      const lastSuspend = last === undefined ? {} : { lastSuspend: last };
      const handedHolds = holds.handOver();
      await running.disposeAsync();
      const known = { holds: handedHolds, resume: toHandedResume(), events: [...hub.kept], ...lastSuspend };
      return { begun_wall_ms, sockets: [...sockets], ...known };
    },
    tellKept(reason) {
      board.part('resume').set('degraded', `the process image was not replaced after a resume: ${reason}`);
      hub.publish('reexec_failed', { reason });
    },
    async [Symbol.asyncDispose]() {
      await running.disposeAsync();
      await kept.disposeAsync();
    },
  };
}

/** As long as local callers wait for the gate of a resume. */
const HANDOVER_LIMIT_MS = 2_000;
const REPLACING = 'the agent is replacing its process image after a resume; try again';

/** How long the monotonic clock ran on although nothing here did; in a restored or sleeping machine it stood still as well. */
function toRunningGap(resume: LastResume | undefined): number {
  const ranOn = resume?.cause === 'process_stopped' || resume?.cause === 'vm_paused';
  return ranOn ? (resume.gap_ms ?? 0) : 0;
}

/** What of the settings is not used and why; undefined when all of them are. */
function toSettingsReason(config: Config): string | undefined {
  if (config.warnings.length === 0) return undefined;
  return config.warnings.map((warning) => `${warning.setting}: ${warning.message}`).join('; ');
}
