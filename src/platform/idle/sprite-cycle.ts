// The cycle of sprites: one without work is suspended, and is warm; one that is warm for long is stopped, and is cold. A machine is looked at
// when it may have been idle for long enough, and its agent is asked right then.
import type { Clock } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import type { Changes } from '../changes.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import { StorageFailure } from '../storage/storage.ts';
import type { AskAgent } from './ask-agent.ts';
import { createDueTimes } from './due-times.ts';
import type { IdleSettings } from './idle-settings.ts';
import type { IdleStore } from './idle-store.ts';
import { listAgentReasons, listKnownReasons } from './judge-machine.ts';
import type { PutToSleep } from './put-to-sleep.ts';
import type { Refusals } from './refusals.ts';
import { findSleepRule } from './sleep-rule.ts';
import { createSlots } from './slots.ts';
import type { Traffic } from './traffic.ts';

export interface SpriteCycleDeps {
  readonly settings: IdleSettings & { readonly sprite_ms: number };
  readonly host: string;
  readonly machines: Pick<MachineStore, 'find'>;
  readonly store: Pick<IdleStore, 'listRunningSprites'>;
  readonly traffic: Traffic;
  readonly askAgent: AskAgent;
  readonly putToSleep: PutToSleep;
  readonly refusals: Refusals;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
}

export interface SpriteCycle extends AsyncDisposable {
  /** Begins to look at the sprites, also at those that run already. */
  start(): void;
}

interface Idle {
  readonly row: MachineRow;
  readonly move: 'suspend' | 'stop';
  readonly idle_ms: number;
}

type Seen = Idle | { readonly next_ms: number };

const LOOKS_AT_ONCE = 8;
const PAGE = 500;
const TICK_MAX_MS = 1_000;
const TICK_MIN_MS = 10;
/** How often those are looked for that nothing was heard of. */
const LIST_MS = 600_000;
const BACKOFF_MAX_MS = 600_000;

export function createSpriteCycle(deps: SpriteCycleDeps): SpriteCycle {
  const { settings, host, store, traffic, refusals, clock, log } = deps;
  const after_ms = settings.sprite_ms;
  const due = createDueTimes();
  const slots = createSlots(LOOKS_AT_ONCE);
  const stop = new AbortController();
  const looking = new Set<Promise<void>>();
  let listed_ms = Number.NEGATIVE_INFINITY;

  const later = (id: string, in_ms: number) => due.set(id, clock.mono_ms() + in_ms);

  /** What follows; undefined when the machine does not run here. */
  async function look(id: string): Promise<Seen | undefined> {
    const row = await deps.machines.find(id);
    if (row?.state !== 'running' || row.host !== host || row.machine_only) return undefined;
    const found = findSleepRule(row, settings);
    if ('why' in found) return { next_ms: Math.min(after_ms * 10, BACKOFF_MAX_MS) };
    const facts = { row, inFlight: traffic.inFlight(id), wall_ms: clock.wall_ms() };
    if (listKnownReasons(facts).length > 0) return { next_ms: after_ms };
    const word = await deps.askAgent(id);
    if (word.type === 'silent' || listAgentReasons(word).length > 0) return { next_ms: after_ms };
    const idle_ms = Math.min(word.idle_ms, traffic.quiet_ms(id));
    return idle_ms < after_ms ? { next_ms: after_ms - idle_ms } : { row, move: found.rule.move, idle_ms };
  }

  /** Resolves with the time until the next look; undefined when it sleeps. */
  async function sleep({ row, move, idle_ms }: Idle): Promise<number | undefined> {
    const message = `idle: nothing came for it and its agent saw no work for ${Math.floor(idle_ms / 1_000)} s`;
    const why = await deps.putToSleep(row, { move, quiet_ms: after_ms, message });
    return why === undefined ? undefined : toBackoff(refusals.add(row.id, why));
  }

  function toBackoff(refused: number): number {
    return Math.min(after_ms * 2 ** refused, BACKOFF_MAX_MS);
  }

  async function lookAndGoOn(id: string): Promise<void> {
    try {
      // A sleep takes its turn among the sleeps, and keeps no other machine from being looked at.
      const seen = await slots.run(async () => (stop.signal.aborted ? undefined : await look(id)));
      const next_ms = seen !== undefined && 'row' in seen ? await sleep(seen) : seen?.next_ms;
      if (next_ms === undefined) refusals.forget(id);
      else later(id, next_ms);
    } catch (err) {
      later(id, toBackoff(refusals.add(id, toErrorMessage(err))));
      if (!stop.signal.aborted && !(err instanceof StorageFailure)) {
        log.error({ err, machine: id }, 'an idle sprite could not be put to sleep; it is tried again');
      }
    }
  }

  /** Spread over the time that they may be idle, because all of them are found at once after a restart of the platform. */
  async function listAll(): Promise<void> {
    const found: string[] = [];
    for (let page = await store.listRunningSprites('', PAGE); page.length > 0; ) {
      found.push(...page);
      page = page.length < PAGE ? [] : await store.listRunningSprites(page.at(-1) ?? '', PAGE);
    }
    const unknown = found.filter((id) => !due.has(id));
    for (const [index, id] of unknown.entries()) later(id, (after_ms * (index + 1)) / unknown.length);
  }

  function run(work: Promise<void>): void {
    const mine = work.finally(() => looking.delete(mine));
    looking.add(mine);
  }

  function tick(): void {
    const now_ms = clock.mono_ms();
    for (const id of due.take(now_ms)) run(lookAndGoOn(id));
    if (now_ms - listed_ms < LIST_MS) return;
    listed_ms = now_ms;
    run(
      listAll().catch((err: unknown) => {
        listed_ms = Number.NEGATIVE_INFINITY;
        if (!(err instanceof StorageFailure)) log.error({ err }, 'the running sprites could not be listed');
      }),
    );
  }

  return {
    start() {
      deps.changes.subscribe('machine_moved', ({ machine_id, state }) => {
        if (stop.signal.aborted) return;
        if (state === 'running') later(machine_id, after_ms);
        else due.delete(machine_id);
      });
      const period_ms = Math.min(TICK_MAX_MS, Math.max(TICK_MIN_MS, after_ms / 20));
      const timer = setInterval(tick, period_ms).unref();
      stop.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
      tick();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(looking);
    },
  };
}
