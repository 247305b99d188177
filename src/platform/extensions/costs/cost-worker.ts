// Asks the providers for costs, each when its time has come. Without extensions it only looks once an hour whether there are any.
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { ExtensionProvider } from '../../extension-providers/extension-provider.ts';
import type { CostFetches } from './cost-fetches.ts';
import type { CostRounds } from './cost-rounds.ts';

export interface CostWorkerDeps {
  readonly fetches: Pick<CostFetches, 'listDue' | 'nextAt'>;
  readonly rounds: CostRounds;
  readonly find: (provider: string) => Promise<ExtensionProvider | undefined>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

const SHORTEST_MS = 5_000;
const LONGEST_MS = 3_600_000;

/** Looks at once, and until it is disposed of. Providers are asked side by side: a slow one delays no other one. */
export function startCostWorker(deps: CostWorkerDeps): AsyncDisposable {
  const { fetches, clock } = deps;
  const closing = new AbortController();
  const asking = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  async function ask(name: string): Promise<void> {
    try {
      const provider = await deps.find(name);
      if (provider !== undefined) await deps.rounds.run(provider, false, closing.signal);
    } catch (error) {
      // A provider's own failures are recorded and logged by its round.
      if (!(error instanceof RemoraError)) onFailure(error);
    } finally {
      asking.delete(name);
    }
  }

  async function look(): Promise<void> {
    let next_ms = LONGEST_MS;
    try {
      for (const name of await fetches.listDue(clock.wall_ms())) if (!asking.has(name)) asking.set(name, ask(name));
      const next_at = await fetches.nextAt();
      if (next_at !== undefined) next_ms = next_at - clock.wall_ms();
    } catch (error) {
      onFailure(error);
    }
    if (closing.signal.aborted) return;
    timer = setTimeout(
      () => {
        looking = look();
      },
      Math.min(LONGEST_MS, Math.max(SHORTEST_MS, next_ms)),
    );
    timer.unref();
  }

  function onFailure(err: unknown): void {
    if (!closing.signal.aborted) deps.log.warn({ err }, 'providers could not be asked for costs; it is tried again');
  }

  let looking = look();
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the platform is stopping'));
      clearTimeout(timer);
      await looking;
      await Promise.all(asking.values());
    },
  };
}
