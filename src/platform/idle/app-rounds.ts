// Machines of apps whose services let them sleep: every so often each app and region is looked at, and at most one machine of it is put to
// sleep in a round, the one that has been without work for longest.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { StorageFailure } from '../storage/storage.ts';
import { type AppFactsDeps, readAppFacts } from './app-facts.ts';
import type { AskAgent } from './ask-agent.ts';
import type { IdleSettings } from './idle-settings.ts';
import type { IdleStore } from './idle-store.ts';
import { judgeInApp } from './judge-app.ts';
import { listAgentReasons, listKnownReasons } from './judge-machine.ts';
import type { PutToSleep } from './put-to-sleep.ts';
import type { Refusals } from './refusals.ts';
import { findSleepRule, type SleepRule } from './sleep-rule.ts';
import { createSlots } from './slots.ts';
import type { Traffic } from './traffic.ts';

export interface AppRoundsDeps extends AppFactsDeps {
  readonly settings: IdleSettings & { readonly round_ms: number };
  readonly store: AppFactsDeps['store'] &
    Pick<IdleStore, 'listRunningInApps' | 'lastRound' | 'beginRound' | 'undoRound'>;
  readonly traffic: Traffic;
  readonly askAgent: AskAgent;
  readonly putToSleep: PutToSleep;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
}

export interface AppRounds extends AsyncDisposable {
  start(): void;
}

interface Candidate {
  readonly row: MachineRow;
  readonly rule: SleepRule;
}

const PAGE = 200;
const APPS_AT_ONCE = 4;
/** How many agents of an app are asked at one look. */
const ASKED = 8;
/** A round has a few looks, so that a machine sleeps soon after it may. */
const LOOKS = 5;
const TICK_MAX_MS = 60_000;
const TICK_MIN_MS = 20;

export function createAppRounds(deps: AppRoundsDeps): AppRounds {
  const { settings, store, traffic, refusals, clock, log } = deps;
  const { round_ms } = settings;
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  /** Whether it sleeps now. Throws what the sleep throws. */
  async function tryOne({ row, rule }: Candidate, after_ms: number): Promise<boolean> {
    const word = await deps.askAgent(row.id);
    if (word.type === 'silent' || listAgentReasons(word).length > 0) return false;
    const idle_ms = Math.min(word.idle_ms, traffic.quiet_ms(row.id));
    if (idle_ms < after_ms) return false;
    const begun_ms = clock.wall_ms();
    if (!(await store.beginRound(row.app, row.region, begun_ms, round_ms))) return true;
    const message = `idle: nothing came for it and its agent saw no work for ${Math.floor(idle_ms / 1_000)} s`;
    const undo = () => store.undoRound(row.app, row.region, begun_ms);
    try {
      const why = await deps.putToSleep(row, { move: rule.move, quiet_ms: after_ms, message });
      if (why === undefined) return true;
      refusals.add(row.id, why);
    } catch (error) {
      await undo();
      throw error;
    }
    await undo();
    return false;
  }

  /** One machine of the app at most. */
  async function lookAt(candidates: readonly Candidate[]): Promise<void> {
    const [first] = candidates;
    if (first === undefined) return;
    const { app, region } = first.row;
    const now_ms = clock.wall_ms();
    const last_ms = (await store.lastRound(app, region)) ?? Number.NEGATIVE_INFINITY;
    if (last_ms <= now_ms && now_ms - last_ms < round_ms) return;
    const facts = await readAppFacts(deps, first.row, settings);
    const quietest = candidates
      .filter(({ row }) => listKnownReasons({ row, inFlight: traffic.inFlight(row.id), wall_ms: now_ms }).length === 0)
      .sort((one, other) => traffic.quiet_ms(other.row.id) - traffic.quiet_ms(one.row.id));
    for (const candidate of quietest.slice(0, ASKED)) {
      const { reasons, after_ms } = judgeInApp(candidate.row.id, facts);
      if (stop.signal.aborted || (reasons.length === 0 && (await tryOne(candidate, after_ms)))) return;
    }
  }

  async function listCandidates(): Promise<readonly (readonly Candidate[])[]> {
    const byApp = new Map<string, Candidate[]>();
    for (let after = ''; ; ) {
      const rows = await store.listRunningInApps(after, PAGE);
      for (const row of rows) {
        const found = findSleepRule(row, settings);
        if (!('rule' in found)) continue;
        const key = JSON.stringify([row.app, row.region]);
        byApp.set(key, [...(byApp.get(key) ?? []), { row, rule: found.rule }]);
      }
      if (rows.length < PAGE) return [...byApp.values()];
      after = rows.at(-1)?.id ?? '';
    }
  }

  async function look(): Promise<void> {
    const slots = createSlots(APPS_AT_ONCE);
    const apps = await listCandidates();
    await Promise.all(apps.map((candidates) => slots.run(() => lookAt(candidates).catch(tell))));
  }

  function tell(err: unknown): void {
    if (stop.signal.aborted || err instanceof StorageFailure) return;
    log.error({ err }, 'an idle machine of an app could not be put to sleep; it is tried again');
  }

  function tick(): void {
    running ??= look()
      .catch(tell)
      .finally(() => {
        running = undefined;
      });
  }

  return {
    start() {
      const period_ms = Math.min(TICK_MAX_MS, Math.max(TICK_MIN_MS, round_ms / LOOKS));
      const timer = setInterval(tick, period_ms).unref();
      stop.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
      tick();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
