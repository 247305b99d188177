// One round of a provider: the days that are still to be asked for, one after the other, by one platform process at a time.
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { ExtensionProvider } from '../../extension-providers/extension-provider.ts';
import { StorageFailure } from '../../storage/storage.ts';
import { toCostDays } from './cost-days.ts';
import type { CostFetches } from './cost-fetches.ts';
import type { FetchedCosts } from './fetch-costs.ts';

export interface CostRounds {
  /**
   * Throws `conflict` when the provider is being asked already, and what went wrong with the provider, after it is recorded. With `isForced`
   * it is asked before its time.
   */
  run(provider: ExtensionProvider, isForced: boolean, signal: AbortSignal): Promise<FetchedCosts>;
}

export interface CostRoundsDeps {
  readonly fetches: CostFetches;
  readonly fetchDay: (provider: ExtensionProvider, day: number, signal: AbortSignal) => Promise<FetchedCosts>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Three times a day, so that a provider which is away for a while is still asked once a day. */
const PERIOD_MS = 8 * 3_600_000;
/** Longer than a call and its writes may take. */
const LEASE_MS = 300_000;
const RETRY_FIRST_MS = 60_000;
const RETRY_LONGEST_MS = 7_200_000;
const ERROR_LENGTH_MAX = 200;

export function createCostRounds({ fetches, fetchDay, clock, log }: CostRoundsDeps): CostRounds {
  async function askForDays(provider: ExtensionProvider, signal: AbortSignal): Promise<FetchedCosts> {
    const known = await fetches.find(provider.name);
    const { days, unsettled_from } = toCostDays(known?.unsettled_from ?? 0, provider.created_at, clock.wall_ms());
    const sum = { billed: 0, held: 0, refused: 0 };
    for (const day of days) {
      await fetches.extend(provider.name, clock.wall_ms() + LEASE_MS);
      const { billed, held, refused } = await fetchDay(provider, day, signal);
      sum.billed += billed;
      sum.held += held;
      sum.refused += refused;
    }
    await fetches.succeed(provider.name, clock.wall_ms(), clock.wall_ms() + PERIOD_MS, unsettled_from);
    if (sum.held + sum.refused > 0) log.warn({ provider: provider.name, ...sum }, NOT_BILLED);
    return sum;
  }

  async function recordFailure(provider: ExtensionProvider, error: unknown): Promise<void> {
    const failures = (await fetches.find(provider.name))?.failures ?? 0;
    const delay_ms = Math.min(RETRY_LONGEST_MS, RETRY_FIRST_MS * 2 ** Math.min(failures, 20));
    const reason = error instanceof RemoraError ? error.message : 'it could not be asked';
    await fetches.fail(provider.name, reason.slice(0, ERROR_LENGTH_MAX), clock.wall_ms() + delay_ms);
    log.warn({ err: error, provider: provider.name }, 'a provider could not be asked for costs; it is asked again');
  }

  return {
    async run(provider, isForced, signal) {
      const now_ms = clock.wall_ms();
      if (isForced) await fetches.hasten(provider.name, now_ms);
      if (!(await fetches.claim(provider.name, now_ms, now_ms + LEASE_MS))) {
        throw new RemoraError('conflict', 'this provider is being asked for its costs already; look again in a moment');
      }
      try {
        return await askForDays(provider, signal);
      } catch (error) {
        if (!(error instanceof StorageFailure)) await recordFailure(provider, error);
        throw error;
      }
    },
  };
}

const NOT_BILLED = 'some costs of a provider are held or refused; `remora platform costs list` shows them';
