// The parts of the agent, each made after those that it needs. Nothing runs until agent.ts starts it. What a part needs only where the
// settings ask for it is loaded here and not at its first use: after a resume the disk may be slow.
import { dirname, join } from 'node:path';
import { withDeadline } from '../core/with-deadline.ts';
import { createKernel, type Kernel } from '../linux/kernel/kernel.ts';
import type { AgentBase, AgentBaseOptions } from './agent-base.ts';
import { createChannel } from './channel/channel.ts';
import { createGateway, type Gateway } from './gateway/gateway.ts';
import { createHolds } from './holds/holds.ts';
import { createHooks } from './hooks/hooks.ts';
import { createPrimaryChangeHooks } from './hooks/run-primary-change.ts';
import { setHooksPart } from './hooks/set-hooks-part.ts';
import { createIdle, type IdleOptions } from './idle/idle.ts';
import { createSleepConsent } from './idle/sleep-consent.ts';
import { createInterlock } from './machine/interlock.ts';
import { createMachine } from './machine/machine.ts';
import { createMachineStatus, type MachineStatus } from './machine/machine-status.ts';
import type { MachinesApi } from './machine/machines-api.ts';
import { createSuspendProgress, type SuspendProgress } from './machine/suspend-progress.ts';
import type { Suspender } from './machine/suspender.ts';
import { createNetworkPart } from './network/network-part.ts';
import { createOwnSprite } from './own-sprite/own-sprite.ts';
import { createPorts, type Ports, type PortsOptions } from './ports/ports.ts';
import { createProgramPolicyPart } from './program-policy/program-policy-part.ts';
import { createReplication, type Replication } from './replication/replication.ts';
import { bootClock_ms } from './restart/restart-file.ts';
import type { RestartRequest } from './restart/restart-request.ts';
import { createGenerationFile, type GenerationFile } from './resume/generation-file.ts';
import { createResume, type ResumeOptions, type ResumePart } from './resume/resume.ts';
import { createStaleSockets } from './resume/stale-connections.ts';
import { createResumeReports, type ResumeReports } from './resume-reports/resume-reports.ts';
import { createRunGate } from './supervisor/run-gate.ts';
import { createSupervisorPart, type SupervisorPart } from './supervisor/supervisor-part.ts';
import { readNewestVersion } from './upgrade/newest-version.ts';
import { createUpgrade } from './upgrade/upgrade.ts';

/** How long what nobody waits for is put off after a resume: for the answer of the platform that calls wait for, and for theirs. */
const REPORT_MS = 1_000;
const CALL_MS = 250;

export interface AgentPartsOptions extends Omit<AgentBaseOptions, 'loop'> {
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  /** Aborts when the agent ends. */
  readonly signal: AbortSignal;
  readonly restart: RestartRequest;
  /** Replaces the kernel of this machine, for benchmarks. */
  readonly kernel?: Kernel;
}

export interface Stacks {
  /** Disposes of what ends with this process. */
  readonly stack: AsyncDisposableStack;
  /** Disposes of what stays in the file system when this process is started again. */
  readonly files: AsyncDisposableStack;
}

export type AgentParts = Awaited<ReturnType<typeof createAgentParts>>;

export async function createAgentParts(base: AgentBase, options: AgentPartsOptions, { stack, files }: Stacks) {
  const { clock, random, runClock, hub, upstream, log, board, store, incarnation } = base;
  const { config, restartState } = options;
  const common = { clock, random, hub, upstream, log };

  const resume: ResumePart = stack.use(
    createResume({
      ...common,
      kernel: options.kernel ?? createKernel({ pausesFile: config.pausesFile }),
      part: board.part('resume'),
      incarnation,
      callersAnswered: () => callersAnswered(resumeReports, gateway),
      ...toResumeRestart(options),
    }),
  );
  const identity = () => resume.identityHeaders();
  const check = () => resume.check();
  const staleSockets = createStaleSockets({ hub, choice: { ports: config.killPorts, cgroups: config.killCgroups } });
  const generationPath = config.generationFile ?? join(dirname(config.socket), 'generation');
  const generationFile = files.use(createGenerationFile(generationPath));
  const writeGeneration = () => writeOrLog(generationFile, base);

  const holds = stack.use(createHolds({ clock, runClock, hub, db: store.db, log, check }));
  const machineStatus = createMachineStatus({
    part: board.part('machine'),
    identity: config,
    hasApi: config.machinesApi !== undefined,
  });
  const resumeReports: ResumeReports = stack.use(
    createResumeReports({
      ...common,
      config,
      resume,
      holds: () => holds.inForce().map((hold) => hold.name),
      spreadStore: store.reconnectSpread,
      version: options.version,
      callersFirst: () => gateway.answered(CALL_MS),
      onFence: (reason) => onFence(reason, machineStatus, supervisor),
      onAdopted: writeGeneration,
    }),
  );
  const { channel, network, supervisor, programPolicy, ownSprite, gate } = createInside(base, options, {
    resume,
    resumeReports,
    stack,
  });
  const gateway: Gateway = stack.use(
    await createGateway({
      ...common,
      part: board.part('gateway'),
      db: store.db,
      config,
      ...{ identity, gate },
      mayDraw: resumeReports.mayDraw,
      onTurn: () => base.loop.enter('gateway'),
      refreshGate: () => resume.gate.wait().then(() => resumeReports.mayGoOut()),
      onAsked: () => supervisor.onSecretsChanged(),
    }),
  );
  const ports = stack.use(createPortsOf(base, config, { identity, gateway, resumeReports }));
  const hooks = await createHooksOf(base, config);
  const progress = createSuspendProgress((up) => resume.setFence(up));
  const replication = stack.use(
    createReplication({
      ...common,
      part: board.part('replication'),
      config,
      mayConnect: () => progress.state !== 'fenced' && !resumeReports.isHeldBack,
      onPrimaryChange: createPrimaryChangeHooks(hooks, board.part('hooks')),
    }),
  );
  const inside = { inside: () => supervisor.work(), lookInside: () => supervisor.look() };
  const work = { ...inside, holds: holds.inForce, isPrimary: () => replication.isPrimary() };
  const interlock = createInterlock({
    ...work,
    openStreams: () => gateway.openStreams(),
    streams: () => config.suspendStreams,
  });
  const api = await openMachinesApi(config, upstream, identity);
  const machine = stack.use(
    createMachine({
      clock,
      hub,
      identity: config,
      api,
      sources: { procRoot: '/proc', env: options.env },
      interlock,
      lookInside: work.lookInside,
      hooks,
      settle: () => settle(base, gateway, replication),
      check,
      progress,
      generation: () => incarnation.generation,
      lastResume: () => resume.lastResume(),
      lastSuspend: restartState?.lastSuspend,
      beforeSuspend: () => sleep.beforeSuspend(),
    }),
  );
  const { idle, sleep } = createIdleParts(base, config, {
    ...{ work, gateway, ports, check, progress },
    suspender: machine.suspender,
  });
  stack.use(idle);
  return {
    ...{ resume, staleSockets, generationPath, generationFile, writeGeneration, holds, machineStatus, resumeReports },
    ...{ channel, network, programPolicy, ownSprite, gateway, ports, hooks, progress, replication },
    ...{ interlock, machine, idle, sleep, supervisor },
    upgrade: createUpgradeOf(options, gateway, supervisor),
  };
}

/** Resolves when the calls that a resume has held up are answered, or have waited long: for the platform, and then for their answers. */
async function callersAnswered(
  { mayCall }: Pick<ResumeReports, 'mayCall'>,
  gateway: Pick<Gateway, 'answered'>,
): Promise<void> {
  await withDeadline(REPORT_MS, Promise.resolve(mayCall())).catch(() => undefined);
  await gateway.answered(CALL_MS);
}

/** A machine that is refused starts nothing with the secrets of its app, and gets them back when it is served again. */
function onFence(
  reason: string | undefined,
  machineStatus: Pick<MachineStatus, 'setFencedOff'>,
  supervisor: Pick<SupervisorPart, 'onSecretsChanged'>,
): void {
  machineStatus.setFencedOff(reason);
  supervisor.onSecretsChanged();
}

/** What suspends an idle machine: the machine itself, and the platform with its consent. */
function createIdleParts(
  { clock, random, runClock, hub }: AgentBase,
  config: AgentPartsOptions['config'],
  { work, gateway, ports, check, progress, suspender }: IdleNeeds,
) {
  const idle = createIdle({
    ...{ clock, random, runClock, hub, config },
    ...work,
    calls: () => gateway.calls(),
    suspendState: () => progress.state,
    ports: () => ports.listening().keys(),
    check,
    suspend: (recheck) => suspender.suspend(false, { recheck }),
  });
  const sleep = createSleepConsent({
    watch: idle,
    suspend: (steps) => suspender.suspend(false, steps),
    callOff: suspender.callOff,
    state: () => progress.state,
    wasResumed: () => suspender.last?.outcome === 'resumed',
  });
  return { idle, sleep };
}

interface IdleNeeds {
  readonly work: Pick<IdleOptions, 'inside' | 'lookInside' | 'holds' | 'isPrimary'>;
  readonly gateway: Pick<Gateway, 'calls'>;
  readonly ports: Pick<Ports, 'listening'>;
  readonly check: () => void;
  readonly progress: SuspendProgress;
  readonly suspender: Suspender;
}

/** What can be done to the sprite as a whole: by others over the channel, by the supervisor in this machine, and by the platform. */
function createInside(
  { clock, random, log, board, upstream, incarnation }: AgentBase,
  { config, env, version, signal: stopping }: AgentPartsOptions,
  {
    resume,
    resumeReports,
    stack,
  }: Pick<Stacks, 'stack'> & {
    readonly resume: ResumePart;
    readonly resumeReports: ResumeReports;
  },
) {
  const uid = process.getuid?.() ?? 0;
  const network = stack.use(createNetworkPart({ config, env, uid, version, log, part: board.part('network') }));
  const channel = stack.use(
    createChannel({
      clock,
      random,
      log,
      part: board.part('channel'),
      config,
      identity: () => ({ ...resume.identityHeaders(), ...network.toHeaders(), ...programPolicy.toHeaders() }),
      async mayDial(signal) {
        await resume.gate.wait();
        await resumeReports.mayGoOut(signal);
        await resumeReports.mayDraw();
      },
      mayHandshake: upstream.mayHandshake,
    }),
  );
  const identity = () => resume.identityHeaders();
  function gate(): Promise<void> | undefined {
    const isOpen = resume.gate.pass();
    return isOpen === undefined ? resumeReports.mayCall() : isOpen.then(resumeReports.mayCall);
  }
  const generation = () => incarnation.generation;
  const supervisor = stack.use(
    createSupervisorPart({
      ...{ config, env, log },
      uid,
      part: board.part('supervisor'),
      gate: createRunGate({
        'the network policy': () => network.mayRun(),
        'the policies of privileges and resources': () => programPolicy.mayRun(),
      }),
      secrets: { upstream, identity, gate, generation, random, signal: stopping },
    }),
  );
  const ownSprite = createOwnSprite({
    config,
    upstream,
    identity,
    gate,
    stopping,
    begin: (id) => supervisor.inFlight.begin(id),
  });
  const programPolicy = createProgramPolicyPart({ config, uid, openLink: supervisor.openLink });
  return { channel, network, supervisor, programPolicy, ownSprite, gate };
}

async function openMachinesApi(
  { machinesApi: address, token }: AgentPartsOptions['config'],
  upstream: AgentBase['upstream'],
  identity: () => Record<string, string>,
): Promise<MachinesApi | undefined> {
  if (address === undefined) return undefined;
  const { createMachinesApi } = await import('./machine/machines-api.ts');
  await import('./machine/ask-suspend.ts');
  return createMachinesApi({ address, token, upstream, identity });
}

function createPortsOf(
  { clock, random, hub, upstream, log, board, store }: AgentBase,
  config: AgentPartsOptions['config'],
  { identity, gateway, resumeReports }: PortNeeds,
): Ports {
  return createPorts({
    ...{ clock, random, hub, upstream, log },
    part: board.part('ports'),
    noticesPart: board.part('notices'),
    db: store.db,
    config: { ...config, spriteUrl: gateway.spriteUrl, servedPorts: resumeReports.servedPorts },
    identity,
    mayGoOut: resumeReports.mayGoOut,
  });
}

interface PortNeeds extends Pick<PortsOptions, 'identity'> {
  readonly gateway: Pick<Gateway, 'spriteUrl'>;
  readonly resumeReports: Pick<ResumeReports, 'servedPorts' | 'mayGoOut'>;
}

async function createHooksOf({ board, incarnation }: AgentBase, { hooksDir: directory }: AgentPartsOptions['config']) {
  const hooks = createHooks({ directory, generation: () => incarnation.generation });
  if (directory !== undefined) {
    await import('./hooks/post-hook.ts');
    setHooksPart(board.part('hooks'), hooks);
  }
  return hooks;
}

/** What the former process left, and how this one ends for the next. The setting may change at any time. */
function toResumeRestart({
  config,
  restart,
  restartState,
}: AgentPartsOptions): Pick<ResumeOptions, 'before' | 'restart'> {
  return {
    before:
      restartState === undefined
        ? undefined
        : { ...restartState.resume, ended_ms: bootClock_ms() - restartState.begun_boot_ms },
    restart: {
      isWanted: () => config.resumeRng === 'restart' && restart.whyNot() === undefined,
      begin: () => restart.begin('resume'),
    },
  };
}

/** Calls through the gateway, calls that reach into this machine, and processes with a caller would be cut off. */
function createUpgradeOf(
  { version, env, restart }: AgentPartsOptions,
  gateway: Pick<Gateway, 'calls'>,
  supervisor: SupervisorPart,
) {
  return createUpgrade({
    version,
    newest: () => readNewestVersion(env),
    whyNot: restart.whyNot,
    async inFlight() {
      await supervisor.look();
      const { sessions } = supervisor.work();
      const seen = sessions.type === 'seen' ? sessions.sessions : [];
      const attached = seen.flatMap(({ id, program, callers }) =>
        callers > 0 ? [[`${program} (${id})`, callers] as const] : [],
      );
      return new Map([...gateway.calls().open, ...supervisor.inFlight.open, ...attached]);
    },
    begin: () => restart.begin('upgrade'),
  });
}

/** A file that cannot be written only costs the programs that watch it. */
function writeOrLog(file: GenerationFile, { incarnation, log }: AgentBase): void {
  try {
    file.write(incarnation.generation);
  } catch (error) {
    log.warn({ err: error }, 'the generation file cannot be written');
  }
}

/** Prepares a suspend: what is on disk is complete, no idle connection is left to freeze, and no memory that nobody uses. */
async function settle(
  { store, upstream, spareMemory }: AgentBase,
  gateway: Gateway,
  replication: Replication,
): Promise<void> {
  store.checkpoint();
  await Promise.all([gateway.settle(), replication.settle()]);
  upstream.retire();
  await spareMemory.giveBack();
}
