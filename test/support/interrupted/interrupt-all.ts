// Begins operations of one machine, interrupts all of them at one moment, and says of each what came of it.
import type { KillablePlatform } from '../killable-platform.ts';
import type { BegunOperation, Operation } from './operation.ts';

export interface Interruption {
  /** Interrupts. */
  cut(): Promise<void>;
  /** Has calls served again. */
  back(): Promise<void>;
  /** Whether what was left is looked at before `back`. */
  readonly isMachineAwake: boolean;
  /** Where calls are not interrupted, and come to their end. */
  readonly ending_ms?: number;
}

export interface Outcome {
  readonly ending: string;
  /** Undefined when all is as it should be. */
  readonly left: unknown;
  readonly again: unknown;
}

/** How long a caller may wait for the end of its call after it was interrupted: less than the pings of a channel need to notice. */
const ENDING_MS = 15_000;

/** Resolves with the outcomes by the names of the operations. */
export async function interruptAll(
  platform: KillablePlatform,
  operations: readonly Operation[],
  { cut, back, isMachineAwake, ending_ms = ENDING_MS }: Interruption,
): Promise<ReadonlyMap<string, Outcome>> {
  await Promise.all(operations.map((operation) => operation.prepare?.(platform)));
  const begun: BegunOperation[] = [];
  for (const operation of operations) begun.push(await operation.begin(platform));
  await cut();
  const endings = await Promise.all(begun.map(({ ending }) => inTime(ending(), ending_ms)));
  if (!isMachineAwake) await back();
  const lefts = await Promise.all(begun.map(({ left }) => failureOf(left())));
  if (isMachineAwake) await back();
  const agains = await Promise.all(begun.map(({ again }) => failureOf(again())));
  return new Map(
    operations.map(({ name }, index) => [
      name,
      { ending: endings[index] ?? '', left: lefts[index], again: agains[index] },
    ]),
  );
}

function inTime(ending: Promise<string>, limit_ms: number): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, limit_ms, `nothing within ${limit_ms} ms`);
  });
  return Promise.race([ending, late]).finally(() => clearTimeout(timer));
}

function failureOf(check: Promise<void>): Promise<unknown> {
  return check.then(
    () => undefined,
    (error: unknown) => error,
  );
}
