// The access log and the usage of the gateway: a line for every call, refused ones too, and sums by day, connector and sprite. The sums
// are written to the database every few seconds, so that no call waits for a disk.
import { errorStatus } from '../../../contract/errors.ts';
import type { Clock } from '../../../core/clock.ts';
import type { TokenUsage } from '../../../core/gateway/token-usage.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { ExchangeOutcome } from '../../../http/exchange-outcome.ts';
import type { Caller } from '../../tokens/caller-store.ts';
import { spriteOf } from '../../tokens/principal.ts';
import { toUsageDay } from './usage-days.ts';
import { type UsageCounts, type UsageKey, type UsageStore, usageSums } from './usage-store.ts';

/** What is known of one call so far; filled in while it is served. Never holds a header, a query or a body. */
export interface CallRecord {
  readonly caller: Caller;
  readonly method: string;
  provider?: string;
  connector_id?: string;
  /** Whether the connector is one of the caller's organization. Other ids are not summed: a caller can make up any number of them. */
  isKnown?: boolean;
  /** The path that the policy judged, without its query. */
  path?: string;
  rule?: string | undefined;
  /** Whether the provider has been called. */
  isSent?: boolean;
  outcome?: ExchangeOutcome & { readonly cause: unknown };
  usage?: TokenUsage | undefined;
}

export interface UsageRecorder extends AsyncDisposable {
  /** `error`: the error that the caller got in place of the provider's answer. */
  add(record: CallRecord, error: unknown, ms: number): void;
  /** Writes the sums that are not written yet. */
  flush(): Promise<void>;
}

export interface UsageRecorderOptions {
  readonly usage: Pick<UsageStore, 'add'>;
  readonly clock: Clock;
  readonly log: Log;
}

const PERIOD_MS = 5_000;
const DAY_MS = 86_400_000;
/** The most sums kept in memory while the database cannot be written to. Calls beyond that are in the log only. */
const SUMS_MAX = 10_000;

export function createUsageRecorder({ usage, clock, log }: UsageRecorderOptions): UsageRecorder {
  let sums = new Map<string, UsageKey & { -readonly [K in keyof UsageCounts]: UsageCounts[K] }>();
  let writing: Promise<void> | undefined;

  function sumOf({ caller, provider = '', connector_id = '' }: CallRecord) {
    const sprite = spriteOf(caller)?.name ?? '';
    const organization_id = caller.organization.id;
    const number = Math.floor(clock.wall_ms() / DAY_MS);
    // No name holds a line break.
    const text = `${number}\n${organization_id}\n${connector_id}\n${sprite}\n${provider}`;
    const known = sums.get(text);
    if (known !== undefined) return known;
    const key = { organization_id, day: toUsageDay(number * DAY_MS), connector_id, sprite, provider };
    const sum = {
      ...key,
      calls: 0,
      refused: 0,
      request_bytes: 0,
      response_bytes: 0,
      input_tokens: 0,
      output_tokens: 0,
    };
    if (sums.size < SUMS_MAX) sums.set(text, sum);
    return sum;
  }

  function count(record: CallRecord): void {
    const sum = sumOf(record);
    if (record.isSent !== true) {
      sum.refused += 1;
      return;
    }
    sum.calls += 1;
    sum.request_bytes += record.outcome?.request_bytes ?? 0;
    sum.response_bytes += record.outcome?.response_bytes ?? 0;
    sum.input_tokens += record.usage?.input_tokens ?? 0;
    sum.output_tokens += record.usage?.output_tokens ?? 0;
  }

  async function write(): Promise<void> {
    const taken = sums;
    if (taken.size === 0) return;
    sums = new Map();
    try {
      await usage.add([...taken.values()]);
    } catch (err) {
      for (const [key, since] of sums) {
        const before = taken.get(key);
        if (before === undefined) taken.set(key, since);
        else for (const name of usageSums) before[name] += since[name];
      }
      sums = taken;
      log.error({ err, sums: sums.size }, 'the usage of the gateway could not be written; it is tried again');
    }
  }

  async function flush(): Promise<void> {
    await writing;
    writing = write();
    await writing;
  }

  const timer = setInterval(() => void flush(), PERIOD_MS);
  timer.unref();

  return {
    add(record, error, ms) {
      if (record.isKnown === true) count(record);
      log.info({ ...toFields(record, error), ms }, record.isSent === true ? 'gateway call' : 'gateway call refused');
    },
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await flush();
    },
  };
}

function toFields(record: CallRecord, error: unknown): object {
  const { caller, method, provider, connector_id: connector, path, rule, outcome, usage } = record;
  const sprite = spriteOf(caller)?.name;
  const who = { organization: caller.organization.slug, token: caller.token.id, sprite };
  const what = { provider, connector, method, path, rule };
  if (outcome === undefined) {
    const code = error instanceof RemoraError ? error.code : 'internal';
    return { ...who, ...what, code, status: errorStatus[code] };
  }
  const { ended, status, request_bytes, response_bytes, cause } = outcome;
  const reason = cause instanceof RemoraError ? cause.code : undefined;
  return { ...who, ...what, status, request_bytes, response_bytes, ended, reason, ...usage };
}
