// The notices that wait to be sent. Those of one stream, such as those of one machine, go one after the other; a notice is taken by one
// platform process at a time, until its lease ends.
import { isDue } from '../provider-calls/is-due.ts';
import type { Sql } from '../storage/storage.ts';

export interface WaitingNotice {
  readonly id: number;
  readonly provider: string;
  /** What it is about: within a stream the order is kept. */
  readonly stream: string;
  /** The `id` and `source` of the CloudEvent, the same each time. */
  readonly event_id: string;
  readonly source: string;
  readonly type: string;
  /** JSON. */
  readonly body: string;
  readonly created_at: number;
  /** How often it was sent in vain. */
  readonly attempts: number;
}

/** What came of the notices of a provider. */
export interface NoticeTotals {
  readonly delivered: number;
  /** Given up after a day. */
  readonly dead: number;
  /** Given up because too many waited. */
  readonly dropped: number;
  readonly last_error: string | null;
  /** Unix milliseconds. */
  readonly last_error_at: number | null;
  /** Nothing is sent before this time, because the provider asked for it. */
  readonly paused_until: number;
}

export interface NoticeStore {
  /** The providers for which something may be sent now. */
  listDue(now_ms: number): Promise<readonly string[]>;
  /** Whether some provider is to be told of anything. */
  hasListeners(): Promise<boolean>;
  /** When something is due next; undefined while nothing waits. */
  nextAt(): Promise<number | undefined>;
  /** Takes the first notices of at most `limit` streams of a provider until `lease_until`. */
  claim(provider: string, limit: number, now_ms: number, lease_until: number): Promise<readonly WaitingNotice[]>;
  /** Removes a notice that was delivered, and makes the next one of its stream due. */
  deliver(notice: WaitingNotice, now_ms: number): Promise<void>;
  /** Gives back a notice that was not sent after all. */
  release(notice: WaitingNotice, now_ms: number): Promise<void>;
  /** Makes the stream of the notice wait, and with `pause_until` all that the provider is sent. */
  delay(notice: WaitingNotice, failure: NoticeFailure): Promise<void>;
  /** Removes what is older than `before`, and the oldest beyond `kept`. */
  trim(provider: string, before: number, kept: number): Promise<Pick<NoticeTotals, 'dead' | 'dropped'>>;
  countWaiting(provider: string): Promise<number>;
  totals(provider: string): Promise<NoticeTotals>;
}

export interface NoticeFailure {
  readonly error: string;
  readonly now_ms: number;
  readonly next_at: number;
  readonly pause_until?: number | undefined;
}

const isFirst = `NOT EXISTS (
  SELECT 1 FROM provider_notices o WHERE o.provider = n.provider AND o.stream = n.stream AND o.id < n.id)`;
const nobody: NoticeTotals = {
  delivered: 0,
  dead: 0,
  dropped: 0,
  last_error: null,
  last_error_at: null,
  paused_until: 0,
};

export function createNoticeStore(storage: Sql): NoticeStore {
  /** Adds to the totals of a provider. */
  async function add(provider: string, { delivered = 0, dead = 0, dropped = 0 }: Partial<NoticeTotals>): Promise<void> {
    await storage.run(
      `INSERT INTO notice_totals (provider, delivered, dead, dropped) VALUES ($1, $2, $3, $4)
       ON CONFLICT (provider) DO UPDATE SET delivered = notice_totals.delivered + excluded.delivered,
         dead = notice_totals.dead + excluded.dead, dropped = notice_totals.dropped + excluded.dropped`,
      [provider, delivered, dead, dropped],
    );
  }

  async function delayStream({ provider, stream }: WaitingNotice, next_at: number): Promise<void> {
    const text = 'UPDATE provider_notices SET next_at = $3 WHERE provider = $1 AND stream = $2';
    await storage.run(text, [provider, stream, next_at]);
  }

  return {
    async listDue(now_ms) {
      const text = `SELECT p.name FROM extension_providers p LEFT JOIN notice_totals t ON t.provider = p.name
        WHERE ${isDue('COALESCE(t.paused_until, 0)', '$1')}
          AND EXISTS (SELECT 1 FROM provider_notices n WHERE n.provider = p.name AND ${isDue('n.next_at', '$1')})`;
      return (await storage.all<{ readonly name: string }>(text, [now_ms])).map(({ name }) => name);
    },
    async hasListeners() {
      const text = "SELECT 1 AS one FROM extension_providers WHERE app IS NOT NULL OR events <> '[]' LIMIT 1";
      return (await storage.one(text)) !== undefined;
    },
    async nextAt() {
      const text = `SELECT min(CASE WHEN n.next_at < COALESCE(t.paused_until, 0) THEN t.paused_until ELSE n.next_at END) AS at
        FROM (SELECT provider, min(next_at) AS next_at FROM provider_notices GROUP BY provider) n
        LEFT JOIN notice_totals t ON t.provider = n.provider`;
      return (await storage.one<{ readonly at: number | null }>(text))?.at ?? undefined;
    },
    async claim(provider, limit, now_ms, lease_until) {
      const text = `SELECT n.id, n.provider, n.stream, n.event_id, n.source, n.type, n.body, n.created_at, n.attempts
        FROM provider_notices n WHERE n.provider = $1 AND ${isDue('n.next_at', '$2')} AND ${isFirst} ORDER BY n.next_at, n.id LIMIT $3`;
      const claimed: WaitingNotice[] = [];
      for (const notice of await storage.all<WaitingNotice>(text, [provider, now_ms, limit])) {
        const take = `UPDATE provider_notices SET next_at = $2 WHERE id = $1 AND ${isDue('next_at', '$3')}`;
        if ((await storage.run(take, [notice.id, lease_until, now_ms])) === 0) continue;
        await delayStream(notice, lease_until);
        claimed.push(notice);
      }
      return claimed;
    },
    async deliver(notice, now_ms) {
      await storage.run('DELETE FROM provider_notices WHERE id = $1', [notice.id]);
      await delayStream(notice, now_ms);
      await add(notice.provider, { delivered: 1 });
    },
    release: delayStream,
    async delay(notice, { error, now_ms, next_at, pause_until = 0 }) {
      await storage.run('UPDATE provider_notices SET attempts = attempts + 1 WHERE id = $1', [notice.id]);
      await delayStream(notice, next_at);
      await add(notice.provider, {});
      await storage.run(
        `UPDATE notice_totals SET last_error = $2, last_error_at = $3,
           paused_until = CASE WHEN paused_until > $4 THEN paused_until ELSE $4 END WHERE provider = $1`,
        [notice.provider, error, now_ms, pause_until],
      );
    },
    async trim(provider, before, kept) {
      const old = 'DELETE FROM provider_notices WHERE provider = $1 AND created_at < $2';
      const dead = await storage.run(old, [provider, before]);
      const beyond = `DELETE FROM provider_notices WHERE provider = $1 AND id <= (
        SELECT id FROM provider_notices WHERE provider = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`;
      const dropped = await storage.run(beyond, [provider, kept]);
      if (dead + dropped > 0) await add(provider, { dead, dropped });
      return { dead, dropped };
    },
    async countWaiting(provider) {
      const text = 'SELECT count(*) AS count FROM provider_notices WHERE provider = $1';
      return (await storage.one<{ readonly count: number }>(text, [provider]))?.count ?? 0;
    },
    async totals(provider) {
      const text = `SELECT delivered, dead, dropped, last_error, last_error_at, paused_until FROM notice_totals
        WHERE provider = $1`;
      return (await storage.one<NoticeTotals>(text, [provider])) ?? nobody;
    },
  };
}
