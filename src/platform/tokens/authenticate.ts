// Authenticates requests: the token names the principal. When the request of a sprite or a machine names the incarnation of its machine, it must be the
// one that is served.
import type { IncomingMessage } from 'node:http';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { isServedAt } from '../../http/served-at.ts';
import type { Fencing } from '../fencing/fencing.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import { type CallKind, type CallRate, type CallRates, createCallRate } from './call-rate.ts';
import type { Caller, CallerStore } from './caller-store.ts';
import { FairTurns } from './fair-turns.ts';
import type { ReadPassedPrincipal } from './passed-principal.ts';
import { checkAccess, checkReadOnly, checkServedOverTcp, type Principal } from './principal.ts';
import { toTokenHash } from './token-store.ts';
import { createWrongTokens, type WrongTokenRates, type WrongTokens } from './wrong-tokens.ts';

export interface AuthenticateDeps {
  readonly callers: CallerStore;
  readonly fencing: Fencing;
  /** Reads who calls, where another platform process has passed the call on; such calls are refused when absent. */
  readonly passed?: ReadPassedPrincipal | undefined;
  readonly clock: Clock;
  readonly rates: CallRates;
  /** The default rates when absent. */
  readonly wrongTokens?: WrongTokenRates | undefined;
}

interface Guard {
  readonly callers: CallerStore;
  readonly clock: Clock;
  readonly rate: CallRate;
  readonly wrong: WrongTokens;
  readonly turns: FairTurns;
}

/** `Bearer` in any case, one space, and a token of visible ASCII (RFC 6750). */
const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i;

/**
 * Returns the function that the edge calls. It throws `unauthorized`, with one message for every cause, `forbidden`, and
 * `too_many_requests` before the database is asked; for a sprite and a machine also what `parseIncarnationHeaders` and `Fencing.admit` throw.
 */
export function createAuthenticate(
  deps: AuthenticateDeps,
): (request: IncomingMessage, operation: Operation) => Promise<Principal> {
  const { callers, clock } = deps;
  const now_ms = () => clock.mono_ms();
  const guard = {
    callers,
    clock,
    rate: createCallRate(deps.rates, now_ms),
    wrong: createWrongTokens(now_ms, deps.wrongTokens),
    turns: new FairTurns(),
  };
  return async (request, operation) => {
    const shown = readToken(request, guard);
    const turn = guard.turns.enter(shown?.owner ?? `address ${request.socket.remoteAddress}`);
    if (turn !== undefined) await turn;
    if (operation.access === 'none' && isServedAt(operation, 'tcp')) return { type: 'anonymous' };
    const kind = operation.answer.kind === 'raw' ? 'gateway' : 'others';
    const isPassed = request.headers[PASSED_HEADER] !== undefined;
    const principal = isPassed ? await deps.passed?.(request) : await toPrincipal(shown, request, kind, guard);
    if (principal === undefined) throw invalid();
    checkServedOverTcp(principal, operation);
    checkAccess(principal, operation.access);
    checkReadOnly(principal, operation);
    if (principal.type !== 'sprite' && principal.type !== 'machine') return principal;
    if (operation.judgesIncarnation === true) return principal;
    const claimed = parseIncarnationHeaders(request.headers);
    if (claimed !== undefined) await deps.fencing.admit(principal.sprite.id, principal.incarnation, claimed);
    return principal;
  };
}

interface ShownToken {
  readonly text: string;
  readonly hash: string;
  /** Its organization, if it was good when it was last looked up. */
  readonly owner: string | undefined;
}

/** Undefined for a header that holds no token. */
function readToken({ headers }: IncomingMessage, { rate }: Guard): ShownToken | undefined {
  const text = BEARER.exec(headers.authorization ?? '')?.[1];
  if (text === undefined) return undefined;
  const hash = toTokenHash(text).toString('latin1');
  return { text, hash, owner: rate.ownerOf(hash) };
}

async function toPrincipal(
  shown: ShownToken | undefined,
  { headers, socket }: IncomingMessage,
  kind: CallKind,
  guard: Guard,
): Promise<Principal> {
  if (headers.authorization === undefined) return { type: 'anonymous' };
  if (shown === undefined) throw invalid();
  const { text, hash } = shown;
  const trial = guard.rate.ownerOf(hash) === undefined ? guard.wrong.begin(socket.remoteAddress) : undefined;
  guard.rate.take(hash, kind);
  let caller: Caller | undefined;
  try {
    caller = await guard.callers.find(text, guard.clock.wall_ms());
  } catch (error) {
    trial?.forgive();
    throw error;
  }
  if (caller === undefined) {
    guard.rate.forget(hash);
    throw invalid();
  }
  if (trial === undefined) return caller;
  trial.forgive();
  guard.rate.learn(hash, caller.organization.id);
  guard.rate.take(hash, kind);
  return caller;
}

function invalid(): RemoraError {
  return new RemoraError('unauthorized', 'the token is not valid');
}
