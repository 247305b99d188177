// Whether anything was committed to a PostgreSQL server since it was looked at last: it names the transactions whose work can be seen, which
// are the same ones only while none has ended. One short question answers for all who look in the meantime.
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Sql } from './storage.ts';

export interface PostgresVersion {
  /** See `Storage`. */
  look(): Promise<void>;
  readonly current: number | undefined;
  /** Call it when this process has written something. */
  bump(): void;
}

/** The numbers of transactions are those of all databases of the server. One that takes its place after a failure may count some of them again. */
const QUESTION = "SELECT pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text AS seen";

/** How long those who look wait for the answer to others, before they ask beside them. */
const PATIENCE_MS = 50;
/** Where more than so many have shared a question, the next one is asked so long after it: a question costs as much as half a call. */
const FEW = 2;
const SPACING_MS = 3;

export function createPostgresVersion(sql: Pick<Sql, 'one'>): PostgresVersion {
  let current = 0;
  let seen: string | undefined;
  /** The look that has not asked yet: all who come until then share it. */
  let gathering: Promise<void> | undefined;
  /** The last question, settled when it is answered; never rejects. */
  let asked: Promise<unknown> = Promise.resolve();
  let isAsking = false;
  let asked_ms = Number.NEGATIVE_INFINITY;
  /** How many share the look that has not asked yet, and shared the one before. */
  let sharers = 0;
  let sharersBefore = 0;

  async function ask(): Promise<void> {
    const row = await sql.one<{ readonly seen: string }>(QUESTION);
    if (row === undefined || row.seen !== seen) current += 1;
    seen = row?.seen;
  }

  async function begin(): Promise<void> {
    // What else has arrived in this turn comes first.
    await turn();
    const early_ms = asked_ms + SPACING_MS - performance.now();
    if (early_ms > 0 && sharersBefore > FEW) await sleep(early_ms);
    if (isAsking) await atMost(PATIENCE_MS, asked);
    gathering = undefined;
    sharersBefore = sharers;
    sharers = 0;
    asked_ms = performance.now();
    isAsking = true;
    const answer = ask();
    const settled = answer.then(ignore, ignore).then(() => {
      if (asked === settled) isAsking = false;
    });
    asked = settled;
    await answer;
  }

  return {
    look() {
      sharers += 1;
      gathering ??= begin();
      return gathering;
    },
    get current() {
      return seen === undefined ? undefined : current;
    },
    bump() {
      current += 1;
    },
  };
}

/** Resolves with `work`, or after so long. */
async function atMost(limit_ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limit_ms);
  await Promise.race([promise, work]);
  clearTimeout(timer);
}

function ignore(): void {}
