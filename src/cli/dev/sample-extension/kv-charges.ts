// What stores cost: one charge for each whole day in UTC that a plan with a price was in force. What was charged once stays so, whatever
// becomes of the store.
import { z } from 'zod';
import type { Sqlite } from '../../../sqlite/open.ts';
import { centsADay, kvPlan } from './kv-plans.ts';

export interface Charge {
  readonly store_id: string;
  /** The day in UTC, in days since 1970. */
  readonly day: number;
  readonly cents: number;
}

export interface Charges {
  /** Charges every day that is over at `now_ms`. */
  settle(now_ms: number): void;
  /** The charges of days that lie within the period. */
  list(from_ms: number, to_ms: number): readonly Charge[];
}

export const DAY_MS = 86_400_000;
/** A clock that was set wrong must not make charges without end. */
const DAYS_MAX = 366;
const dueRow = z.object({ id: z.string(), plan: kvPlan, plan_since_ms: z.number() });
const chargeRow = z.object({ store_id: z.string(), day: z.number(), cents: z.number() });

export function createCharges(db: Sqlite): Charges {
  const stores = db.prepare("SELECT id, plan, plan_since_ms FROM stores WHERE plan <> 'free'");
  const add = db.prepare('INSERT INTO charges (store_id, day, cents) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const list = db.prepare('SELECT store_id, day, cents FROM charges WHERE day >= ? AND day < ? ORDER BY day, store_id');
  return {
    settle: db.transaction((now_ms: number) => {
      const today = Math.floor(now_ms / DAY_MS);
      for (const { id, plan, plan_since_ms } of stores.all().map((row) => dueRow.parse(row))) {
        const first = Math.max(Math.ceil(plan_since_ms / DAY_MS), today - DAYS_MAX);
        for (let day = first; day < today; day += 1) add.run(id, day, centsADay[plan]);
      }
    }),
    list: (from_ms, to_ms) =>
      list.all(Math.ceil(from_ms / DAY_MS), Math.floor(to_ms / DAY_MS)).map((row) => chargeRow.parse(row)),
  };
}
