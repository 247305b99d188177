// What others do in this machine from outside: calls that the agent passes on, connections to ports, and processes. Pure.
import type { RunningSession } from '../../contract/local/session-work.ts';
import type { IdleBlocker } from '../../contract/local/tasks.ts';

/** A process that nobody is connected to is at work for this long after it printed. */
export const PRINTED_RECENTLY_MS = 30_000;

/** `failed`: whether processes run is unknown, and a machine that may be at work stays awake. */
export type SessionReading =
  | { readonly type: 'seen'; readonly sessions: readonly RunningSession[] }
  | { readonly type: 'failed'; readonly why: string };

export interface InsideWork {
  /** Calls and connections in flight, by operation or port. */
  readonly open: ReadonlyMap<string, number>;
  /** Counts every call so far, and every begin and end of a process. */
  readonly total: number;
  readonly sessions: SessionReading;
}

export const noInsideWork: InsideWork = { open: new Map(), total: 0, sessions: { type: 'seen', sessions: [] } };

/** `since` is absent where it is not known. */
export interface InsideBlocker extends Pick<IdleBlocker, 'owner'> {
  readonly kind: 'call' | 'session';
  readonly since?: string;
  readonly reason: string;
}

/** What of it keeps the machine awake. */
export function listInsideWork({ open, sessions }: InsideWork): InsideBlocker[] {
  const list: InsideBlocker[] = [];
  for (const [owner, count] of open) if (count > 0) list.push({ kind: 'call', owner, reason: `${count} in flight` });
  if (sessions.type === 'failed') {
    list.push({ kind: 'session', owner: 'all processes', reason: `processes cannot be seen: ${sessions.why}` });
    return list;
  }
  for (const session of sessions.sessions) {
    const why = whyAtWork(session);
    if (why === undefined) continue;
    const { id, program, created } = session;
    list.push({ kind: 'session', owner: `${program} (${id})`, since: created, reason: why });
  }
  return list;
}

function whyAtWork({ callers, quiet_ms }: RunningSession): string | undefined {
  if (callers > 0) return callers === 1 ? 'a caller is connected' : `${callers} callers are connected`;
  const isPrinting = quiet_ms !== null && quiet_ms < PRINTED_RECENTLY_MS;
  return isPrinting ? `it printed within ${PRINTED_RECENTLY_MS / 1_000} s` : undefined;
}
