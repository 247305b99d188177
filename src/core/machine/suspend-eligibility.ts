// Whether a machine may be suspended: the four conditions of Suspend and Replication, Suspend eligibility, each with its
// verdict.

export const MEMORY_LIMIT_MB = 2_048;
/** A machine that was last updated before this cannot be suspended until a machine update. */
export const UPDATED_SINCE = '2024-06-20T20:00:00.000Z';

/** What is known of a machine; undefined = unknown. */
export interface MachineFacts {
  readonly memory_mb: number | undefined;
  readonly swap_mb: number | undefined;
  /** The configured schedule; null = none. */
  readonly schedule: string | null | undefined;
  /** ISO 8601 date-time. */
  readonly updated_at: string | undefined;
}

export type ConditionName = 'memory' | 'swap' | 'schedule' | 'last_update';

export interface Condition {
  readonly condition: ConditionName;
  /** `unknown` does not prevent a suspend: the platform decides. */
  readonly verdict: 'ok' | 'fails' | 'unknown';
  /** What was found, and for a failed condition what to do. */
  readonly message: string;
}

export interface Eligibility {
  readonly eligible: boolean;
  /** One entry for each condition, in the order of the specification. */
  readonly conditions: readonly Condition[];
}

export function judgeEligibility(facts: MachineFacts): Eligibility {
  const conditions = [judgeMemory(facts), judgeSwap(facts), judgeSchedule(facts), judgeLastUpdate(facts)];
  return { eligible: conditions.every((condition) => condition.verdict !== 'fails'), conditions };
}

function judgeMemory({ memory_mb }: MachineFacts): Condition {
  const condition = 'memory';
  if (memory_mb === undefined) return { condition, verdict: 'unknown', message: 'the size of the memory is not known' };
  if (memory_mb <= MEMORY_LIMIT_MB) return { condition, verdict: 'ok', message: `${memory_mb} MB` };
  const message = `${memory_mb} MB of memory; at most ${MEMORY_LIMIT_MB} MB can be suspended, choose a smaller machine`;
  return { condition, verdict: 'fails', message };
}

function judgeSwap({ swap_mb }: MachineFacts): Condition {
  const condition = 'swap';
  if (swap_mb === undefined) return { condition, verdict: 'unknown', message: 'whether there is swap is not known' };
  if (swap_mb === 0) return { condition, verdict: 'ok', message: 'none' };
  return { condition, verdict: 'fails', message: `${swap_mb} MB of swap is configured; switch it off with swapoff` };
}

function judgeSchedule({ schedule }: MachineFacts): Condition {
  const condition = 'schedule';
  if (schedule === undefined) return { condition, verdict: 'unknown', message: 'the configuration is not known' };
  if (schedule === null) return { condition, verdict: 'ok', message: 'none' };
  return {
    condition,
    verdict: 'fails',
    message: `the machine has the schedule ${schedule}; remove it from its configuration`,
  };
}

function judgeLastUpdate({ updated_at }: MachineFacts): Condition {
  const condition = 'last_update';
  const time = updated_at === undefined ? Number.NaN : Date.parse(updated_at);
  if (Number.isNaN(time)) return { condition, verdict: 'unknown', message: 'the last update is not known' };
  if (time >= Date.parse(UPDATED_SINCE)) return { condition, verdict: 'ok', message: `updated ${updated_at}` };
  const message = `last updated ${updated_at}, before ${UPDATED_SINCE}; bring it up to date with a machine update`;
  return { condition, verdict: 'fails', message };
}
