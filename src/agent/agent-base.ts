// What every part of the agent uses: the board that holds the state of each part for /v1/ready and /v1/status, the database, the
// connections to the platform, the clocks, the incarnation of the machine, and the events.
import { systemClock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { createRunClock } from '../core/run-clock.ts';
import { randomFraction } from '../core/urandom.ts';
import type { LoopWatch } from '../http/loop-watch.ts';
import type { Config } from './config/load-config.ts';
import { createEventHub } from './events/event-hub.ts';
import { createNoUpstream } from './no-upstream.ts';
import { createPartBoard, type PartBoard } from './parts.ts';
import type { RestartState } from './restart/restart-state.ts';
import { createIncarnation } from './resume/incarnation.ts';
import { toKeptIncarnation } from './resume/resume-restart-state.ts';
import { createSpareMemory } from './spare-memory.ts';
import { createOwnCostMeter } from './status/own-cost.ts';
import { openStore } from './store.ts';
import type { Upstream } from './upstream.ts';

export interface AgentBaseOptions {
  readonly config: Config;
  readonly log: Log;
  readonly loop: LoopWatch;
  /** What the former process left. */
  readonly restartState?: RestartState | undefined;
  /** Called when the state of a part has changed. */
  readonly onStatus?: (() => void) | undefined;
}

export type AgentBase = Awaited<ReturnType<typeof openAgentBase>>;

/** `stack` disposes of what was opened. */
export async function openAgentBase(
  { config, log, loop, restartState, onStatus }: AgentBaseOptions,
  stack: AsyncDisposableStack,
) {
  const clock = systemClock;
  const board = createPartBoard(clock, onStatus);
  setSettingsPart(board, config);
  const store = stack.use(openStore(config.stateDir, board.part('store')));
  if (restartState !== undefined) store.incarnation.save(toKeptIncarnation(restartState.resume.life));
  const upstream = stack.use(await openUpstream(config));
  const cost = stack.use(createOwnCostMeter(loop));
  const spareMemory = stack.use(createSpareMemory());
  const incarnation = createIncarnation(store.incarnation);
  const hub = createEventHub({
    clock,
    generation: () => incarnation.generation,
    sequence: store.sequence,
    kept: restartState?.events,
  });
  return {
    clock,
    random: randomFraction,
    runClock: createRunClock(clock),
    log,
    board,
    store,
    upstream,
    loop,
    cost,
    spareMemory,
    incarnation,
    hub,
  };
}

/** What makes connections is loaded when a setting names somebody to connect to. */
export async function openUpstream({ baseUrl, machinesApi, nodeUrl, connect_ms }: Config): Promise<Upstream> {
  if (baseUrl === undefined && machinesApi === undefined && nodeUrl === undefined) return createNoUpstream();
  const { createUpstream } = await import('./upstream.ts');
  return createUpstream({ connect_ms });
}

/** Names the settings that are not used, with the reason. */
export function setSettingsPart(board: PartBoard, { warnings }: Config): void {
  const reasons = warnings.map((warning) => `${warning.setting}: ${warning.message}`);
  if (reasons.length === 0) board.part('settings').set('ok');
  else board.part('settings').set('degraded', reasons.join('; '));
}
