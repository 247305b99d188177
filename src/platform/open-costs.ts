// Wires what asks the providers of extensions for costs.
import type { costFetchOperations } from '../contract/extension-cost-totals.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Handlers } from '../http/handler.ts';
import type { ExtensionProviders } from './extension-providers/extension-providers.ts';
import { createCostFetches } from './extensions/costs/cost-fetches.ts';
import { createCostRounds } from './extensions/costs/cost-rounds.ts';
import { startCostWorker } from './extensions/costs/cost-worker.ts';
import { fetchCosts } from './extensions/costs/fetch-costs.ts';
import type { SignedCall } from './provider-calls/signed-call.ts';
import type { Storage } from './storage/storage.ts';
import type { Principal } from './tokens/principal.ts';

export interface CostParts extends AsyncDisposable {
  readonly handlers: Handlers<typeof costFetchOperations, Principal>;
}

export interface OpenCostsDeps {
  readonly storage: Storage;
  readonly providers: Pick<ExtensionProviders, 'find'>;
  readonly call: SignedCall;
  readonly clock: Clock;
  readonly log: Log;
}

/** Dispose of it before the storage. */
export function openCosts(deps: OpenCostsDeps): CostParts {
  const { storage, providers, clock, log } = deps;
  const closing = new AbortController();
  const fetches = createCostFetches(storage);
  const rounds = createCostRounds({
    fetches,
    fetchDay: (provider, day, signal) => fetchCosts(deps, provider, day, signal),
    clock,
    log,
  });
  const worker = startCostWorker({ fetches, rounds, find: providers.find, clock, log });
  return {
    handlers: {
      async fetchProviderCosts({ params: { name } }) {
        const provider = await providers.find(name);
        if (provider === undefined) throw new RemoraError('not_found', `there is no extension provider ${name}`);
        return await rounds.run(provider, true, closing.signal);
      },
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 }));
      await worker[Symbol.asyncDispose]();
    },
  };
}
