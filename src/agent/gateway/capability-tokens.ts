// Tokens for the loopback listener. Only their SHA-256 is kept; the text is shown once, when a token is made.
import { createHash } from 'node:crypto';
import { CAPABILITY_PREFIX } from '../../core/capability-query.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';

const MAX_LIVE = 1_000;

/** What a token opens: one connector, or all of them when there is no id. */
export interface Capability {
  readonly connector_id?: string;
}

export interface KnownToken {
  readonly id: string;
  readonly capability: Capability;
  readonly expires_at_ms: number;
}

export interface CreatedToken extends KnownToken {
  readonly text: string;
}

export interface CapabilityTokens {
  /** Reads the tokens that earlier processes made. */
  load(): void;
  /** Throws `too_many_requests` when there are too many live ones. */
  create(lifetime_ms: number, connector_id?: string): CreatedToken;
  /** Undefined for an unknown or expired token. */
  verify(text: string): Capability | undefined;
  /** Those that are good now, the first to expire first. */
  list(): readonly KnownToken[];
  /** False when there is none with this id. */
  revoke(id: string): boolean;
}

interface Row {
  readonly id: string;
  readonly hash: string;
  readonly connector_id: string | null;
  readonly expires_at: number;
}

/** A database that cannot be written costs a token its life across a restart, and nothing else; `onProblem` is told. */
export function createCapabilityTokens(
  db: Sqlite,
  clock: Clock,
  onProblem: (error: unknown) => void,
): CapabilityTokens {
  const live = new Map<string, KnownToken>();

  function attempt(write: () => void): void {
    try {
      write();
    } catch (error) {
      onProblem(error);
    }
  }

  function dropExpired(now_ms: number): void {
    for (const [hash, token] of live) if (token.expires_at_ms <= now_ms) live.delete(hash);
    attempt(() => db.prepare('DELETE FROM gateway_tokens WHERE expires_at <= ?').run(now_ms));
  }

  return {
    load() {
      attempt(() => {
        for (const row of db.prepare<[], Row>('SELECT id, hash, connector_id, expires_at FROM gateway_tokens').all()) {
          const { id, hash, expires_at } = row;
          live.set(hash, { id, capability: toCapability(row.connector_id), expires_at_ms: expires_at });
        }
      });
    },
    create(lifetime_ms, connector_id) {
      const now_ms = clock.wall_ms();
      dropExpired(now_ms);
      if (live.size >= MAX_LIVE) {
        throw new RemoraError('too_many_requests', `there are ${MAX_LIVE} live tokens; wait until some expire`, {
          retryAfter_ms: 60_000,
        });
      }
      const id = `cap_${randomHex(8)}`;
      const text = CAPABILITY_PREFIX + randomToken(32);
      const hash = toHash(text);
      const expires_at_ms = now_ms + lifetime_ms;
      const token = { id, capability: toCapability(connector_id ?? null), expires_at_ms };
      live.set(hash, token);
      attempt(() =>
        db
          .prepare('INSERT INTO gateway_tokens (id, hash, connector_id, expires_at) VALUES (?, ?, ?, ?)')
          .run(id, hash, connector_id ?? null, expires_at_ms),
      );
      return { ...token, text };
    },
    verify(text) {
      const token = live.get(toHash(text));
      return token !== undefined && token.expires_at_ms > clock.wall_ms() ? token.capability : undefined;
    },
    list() {
      const now_ms = clock.wall_ms();
      return [...live.values()]
        .filter((token) => token.expires_at_ms > now_ms)
        .sort((a, b) => a.expires_at_ms - b.expires_at_ms);
    },
    revoke(id) {
      const [hash] = [...live].find(([, token]) => token.id === id) ?? [];
      if (hash === undefined) return false;
      live.delete(hash);
      attempt(() => db.prepare('DELETE FROM gateway_tokens WHERE id = ?').run(id));
      return true;
    },
  };
}

function toCapability(connector_id: string | null): Capability {
  return connector_id === null ? {} : { connector_id };
}

function toHash(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
