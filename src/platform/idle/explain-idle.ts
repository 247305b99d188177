// The answer to why a machine is awake: the same reasons by which it is decided, read at this moment.
import type { MachineIdle, WakeReason } from '../../contract/machine-idle.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { type AppFactsDeps, readAppFacts } from './app-facts.ts';
import type { AgentWord, AskAgent } from './ask-agent.ts';
import type { IdleSettings } from './idle-settings.ts';
import type { IdleStore } from './idle-store.ts';
import { judgeInApp } from './judge-app.ts';
import { listAgentReasons, listKnownReasons } from './judge-machine.ts';
import type { Refusals } from './refusals.ts';
import { findSleepRule, type SleepRule } from './sleep-rule.ts';
import type { Traffic } from './traffic.ts';

/** `row`: a machine of this host, or of none. */
export type ExplainIdle = (row: MachineRow) => Promise<MachineIdle>;

export interface ExplainIdleDeps extends AppFactsDeps {
  readonly settings: IdleSettings;
  readonly store: AppFactsDeps['store'] & Pick<IdleStore, 'lastRound'>;
  readonly traffic: Traffic;
  readonly askAgent: AskAgent;
  readonly refusals: Pick<Refusals, 'last'>;
  readonly clock: Pick<Clock, 'wall_ms'>;
}

interface SleepFacts {
  readonly rule: SleepRule | undefined;
  readonly reasons: readonly WakeReason[];
  /** Not before this time, whatever the machine does; Unix milliseconds. */
  readonly earliest_ms: number;
}

export function createExplainIdle(deps: ExplainIdleDeps): ExplainIdle {
  const { settings, traffic, clock } = deps;

  async function readSleep(row: MachineRow): Promise<SleepFacts> {
    const found = findSleepRule(row, settings);
    if ('why' in found) return { rule: undefined, reasons: [found.why], earliest_ms: 0 };
    const { rule } = found;
    if (rule.of === 'sprite') return { rule, reasons: [], earliest_ms: 0 };
    const { reasons, after_ms } = judgeInApp(row.id, await readAppFacts(deps, row, settings));
    const last_ms = await deps.store.lastRound(row.app, row.region);
    return { rule: { ...rule, after_ms }, reasons, earliest_ms: (last_ms ?? 0) + (settings.round_ms ?? 0) };
  }

  async function explainRunning(row: MachineRow): Promise<MachineIdle> {
    const [{ rule, reasons, earliest_ms }, word] = await Promise.all([readSleep(row), deps.askAgent(row.id)]);
    const now_ms = clock.wall_ms();
    const known = listKnownReasons({ row, inFlight: traffic.inFlight(row.id), wall_ms: now_ms });
    const kept_awake_by = [...known, ...listAgentReasons(word), ...reasons];
    const idle_ms = toIdle(word, traffic.quiet_ms(row.id));
    const isIdle = kept_awake_by.length === 0;
    const due_ms = now_ms + Math.max(0, (rule?.after_ms ?? 0) - (idle_ms ?? 0));
    const last_refusal = deps.refusals.last(row.id);
    return {
      ...toCommon(row),
      idle: isIdle,
      idle_since: idle_ms === undefined ? null : toDateTime(now_ms - idle_ms),
      kept_awake_by,
      sleep: rule ?? null,
      would_sleep_at: rule === undefined || !isIdle ? null : toDateTime(Math.max(due_ms, earliest_ms)),
      ...(last_refusal === undefined ? {} : { last_refusal: { at: last_refusal.at, message: last_refusal.message } }),
    };
  }

  function explainOther(row: MachineRow): MachineIdle {
    const found = findSleepRule(row, settings);
    const isWarm = row.state === 'suspended' && !row.machine_only && settings.cold_ms !== undefined;
    return {
      ...toCommon(row),
      idle: false,
      idle_since: null,
      kept_awake_by: [],
      sleep: 'rule' in found ? found.rule : null,
      would_sleep_at: null,
      would_be_cold_at: isWarm ? toDateTime(row.state_since + (settings.cold_ms ?? 0)) : null,
    };
  }

  return async (row) => (row.state === 'running' ? await explainRunning(row) : explainOther(row));
}

function toCommon({ id, state }: MachineRow) {
  return { machine_id: id, state, would_be_cold_at: null } as const;
}

/** Undefined while there is work, and where nobody knows. */
function toIdle(word: AgentWord, quiet_ms: number): number | undefined {
  if (word.type === 'silent' || word.blockers.length > 0 || quiet_ms === 0) return undefined;
  return Math.min(word.idle_ms, quiet_ms);
}
