// Who is calling, found out as for each call: the token in the store, its organization and its sprite, from the headers of a request.
import type { IncomingMessage } from 'node:http';
import { platformOperations } from '../../../src/contract/platform-operations.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createChanges } from '../../../src/platform/changes.ts';
import { createFencing } from '../../../src/platform/fencing/fencing.ts';
import { createIncarnationStore } from '../../../src/platform/fencing/incarnation-store.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import { createAuthenticate } from '../../../src/platform/tokens/authenticate.ts';
import { createCallerStore } from '../../../src/platform/tokens/caller-store.ts';

const ROUNDS = 20_000;
const RUNS = 5;
const UNLIMITED = { burst: 1e9, perSecond: 1e9 };

/** How many each second, the median of several runs; `texts` are tokens of sprites, taken in an order that no cache knows. */
export async function measureLookups(dir: string, texts: readonly string[]): Promise<number> {
  await using storage = openSqliteStorage(dir);
  const authenticate = createAuthenticate({
    callers: { ...createCallerStore(storage), look: () => undefined, known: () => undefined },
    fencing: createFencing(createIncarnationStore(storage), createChanges()),
    clock: systemClock,
    rates: { gateway: UNLIMITED, others: UNLIMITED },
    wrongTokens: { ofAddress: UNLIMITED, ofAll: UNLIMITED },
  });
  const runs: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const begun_ms = performance.now();
    for (let round = 0; round < ROUNDS; round += 1) {
      const text = texts[(round * 7_919 + run * 31) % texts.length];
      const request = { socket: {}, headers: { authorization: `Bearer ${text}` } };
      const principal = await authenticate(request as IncomingMessage, platformOperations.listGateway);
      if (principal.type !== 'sprite') throw new Error('the token was to be found');
    }
    runs.push((ROUNDS * 1_000) / (performance.now() - begun_ms));
  }
  return runs.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? Number.NaN;
}
