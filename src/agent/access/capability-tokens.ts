// Tokens for the loopback listener. Only their SHA-256 is kept; the text is shown once, when a token is made. Calls that were
// begun with a token end when it is revoked or expires.
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../core/clock.ts';
import { CAPABILITY_PREFIX } from '../../core/gateway/capability-text.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';

const MAX_LIVE = 1_000;
const TIMER_CAP_MS = 2 ** 31 - 1;

/** What a token opens: one connector, or every connector when there is no id. */
export interface Capability {
  readonly connector_id?: string;
  /** Aborts with the error `unauthorized` when the token is revoked or expires. */
  readonly until: AbortSignal;
}

export interface KnownToken {
  readonly id: string;
  readonly connector_id: string | null;
  readonly expires_at_ms: number;
}

export interface CreatedToken extends KnownToken {
  readonly text: string;
}

export interface CapabilityTokens extends Disposable {
  /** Reads the tokens that earlier processes made. */
  load(): void;
  /** Throws `too_many_requests` when too many tokens are valid. */
  create(lifetime_ms: number, connector_id?: string): CreatedToken;
  /** Undefined for an unknown or expired token. */
  verify(text: string): Capability | undefined;
  /** The tokens that are valid, sorted by when they expire. */
  list(): readonly KnownToken[];
  /** False when no token has this id. */
  revoke(id: string): boolean;
  /** Ends the tokens that have expired. Called after a resume, because timers stand still with the machine and clocks jump. */
  expire(): void;
}

interface LiveToken extends KnownToken {
  readonly ending: AbortController;
}

interface Row {
  readonly id: string;
  readonly hash: string;
  readonly connector_id: string | null;
  readonly expires_at: number;
}

/** When the database cannot be written, `onProblem` is called and a token ends with this process; all else works. */
export function createCapabilityTokens(
  db: Sqlite,
  clock: Clock,
  onProblem: (error: unknown) => void,
): CapabilityTokens {
  const live = new Map<string, LiveToken>();
  let timer: NodeJS.Timeout | undefined;

  function attempt(write: () => void): void {
    try {
      write();
    } catch (error) {
      onProblem(error);
    }
  }

  function add(hash: string, token: KnownToken): void {
    const ending = new AbortController();
    setMaxListeners(0, ending.signal);
    live.set(hash, { ...token, ending });
  }

  function end(hash: string, token: LiveToken, why: string): void {
    live.delete(hash);
    token.ending.abort(new RemoraError('unauthorized', `the capability token of this call ${why}`));
  }

  function expire(): void {
    const now_ms = clock.wall_ms();
    const over = [...live].filter(([, token]) => token.expires_at_ms <= now_ms);
    for (const [hash, token] of over) end(hash, token, 'has expired');
    if (over.length > 0) attempt(() => db.prepare('DELETE FROM gateway_tokens WHERE expires_at <= ?').run(now_ms));
    clearTimeout(timer);
    const next_ms = Math.min(...[...live.values()].map((token) => token.expires_at_ms)) - now_ms;
    if (Number.isFinite(next_ms)) timer = setTimeout(expire, Math.min(next_ms, TIMER_CAP_MS)).unref();
  }

  return {
    load() {
      attempt(() => {
        for (const row of db.prepare<[], Row>('SELECT id, hash, connector_id, expires_at FROM gateway_tokens').all()) {
          add(row.hash, { id: row.id, connector_id: row.connector_id, expires_at_ms: row.expires_at });
        }
      });
      expire();
    },
    create(lifetime_ms, connector_id) {
      expire();
      if (live.size >= MAX_LIVE) {
        throw new RemoraError('too_many_requests', `there are ${MAX_LIVE} live tokens; wait until some expire`, {
          retryAfter_ms: 60_000,
        });
      }
      const id = `cap_${randomHex(8)}`;
      const text = CAPABILITY_PREFIX + randomToken(32);
      const hash = toHash(text);
      const expires_at_ms = clock.wall_ms() + lifetime_ms;
      const token = { id, connector_id: connector_id ?? null, expires_at_ms };
      add(hash, token);
      expire();
      attempt(() =>
        db
          .prepare('INSERT INTO gateway_tokens (id, hash, connector_id, expires_at) VALUES (?, ?, ?, ?)')
          .run(id, hash, connector_id ?? null, expires_at_ms),
      );
      return { ...token, text };
    },
    verify(text) {
      const token = live.get(toHash(text));
      if (token === undefined || token.expires_at_ms <= clock.wall_ms()) return undefined;
      const until = token.ending.signal;
      return token.connector_id === null ? { until } : { connector_id: token.connector_id, until };
    },
    list() {
      const now_ms = clock.wall_ms();
      return [...live.values()]
        .filter((token) => token.expires_at_ms > now_ms)
        .sort((a, b) => a.expires_at_ms - b.expires_at_ms);
    },
    revoke(id) {
      const found = [...live].find(([, token]) => token.id === id);
      if (found === undefined) return false;
      end(...found, 'was revoked');
      attempt(() => db.prepare('DELETE FROM gateway_tokens WHERE id = ?').run(id));
      return true;
    },
    expire,
    [Symbol.dispose]() {
      clearTimeout(timer);
    },
  };
}

function toHash(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
