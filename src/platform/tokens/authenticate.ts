// Authenticates requests: the token names the principal. When the request of a sprite or a machine names the incarnation of its machine, it must be the
// one that is served.
import type { IncomingMessage } from 'node:http';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { isServedAt } from '../../http/served-at.ts';
import { type Fencing, isServed } from '../fencing/fencing.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import { type CallKind, type CallRate, type CallRates, createCallRate } from './call-rate.ts';
import type { Caller } from './caller-store.ts';
import { FairTurns } from './fair-turns.ts';
import type { KeptCallers } from './kept-callers.ts';
import type { ReadPassedPrincipal } from './passed-principal.ts';
import { checkAccess, checkReadOnly, checkServedOverTcp, type Principal } from './principal.ts';
import { toTokenHash } from './token-store.ts';
import { createWrongTokens, type WrongTokenRates, type WrongTokens } from './wrong-tokens.ts';

export interface AuthenticateDeps {
  readonly callers: KeptCallers;
  readonly fencing: Fencing;
  /** Reads who calls, where another platform process has passed the call on; such calls are refused when absent. */
  readonly passed?: ReadPassedPrincipal | undefined;
  readonly clock: Clock;
  readonly rates: CallRates;
  /** The default rates when absent. */
  readonly wrongTokens?: WrongTokenRates | undefined;
}

interface Guard {
  readonly callers: KeptCallers;
  readonly clock: Clock;
  readonly rate: CallRate;
  readonly wrong: WrongTokens;
  readonly turns: FairTurns;
}

/** `Bearer` in any case, one space, and a token of visible ASCII (RFC 6750). */
const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i;

/**
 * Returns the function that the edge calls; the principal comes at once where nothing is to be waited for. It throws or rejects with
 * `unauthorized`, with one message for every cause, `forbidden`, and `too_many_requests` before the database is asked who calls; for a sprite and
 * a machine also with what `parseIncarnationHeaders` and `Fencing.admit` throw.
 */
export function createAuthenticate(
  deps: AuthenticateDeps,
): (request: IncomingMessage, operation: Operation) => Principal | Promise<Principal> {
  const { callers, clock } = deps;
  const now_ms = () => clock.mono_ms();
  const guard = {
    callers,
    clock,
    rate: createCallRate(deps.rates, now_ms),
    wrong: createWrongTokens(now_ms, deps.wrongTokens),
    turns: new FairTurns(),
  };

  function admit(request: IncomingMessage, operation: Operation, principal: Principal): Principal | Promise<Principal> {
    checkServedOverTcp(principal, operation);
    checkAccess(principal, operation.access);
    checkReadOnly(principal, operation);
    if (principal.type !== 'sprite' && principal.type !== 'machine') return principal;
    if (operation.judgesIncarnation === true) return principal;
    const claimed = parseIncarnationHeaders(request.headers);
    if (claimed === undefined || isServed(principal.incarnation, claimed)) return principal;
    return deps.fencing.admit(principal.sprite.id, principal.incarnation, claimed).then(() => principal);
  }

  async function find(request: IncomingMessage, operation: Operation, shown: ShownToken | undefined) {
    const isPassed = request.headers[PASSED_HEADER] !== undefined;
    const principal = isPassed
      ? await deps.passed?.(request)
      : await toPrincipal(shown, request, toKind(operation), guard);
    if (principal === undefined) throw invalid();
    return await admit(request, operation, principal);
  }

  function go(request: IncomingMessage, operation: Operation, shown: ShownToken | undefined) {
    if (operation.access === 'none' && isServedAt(operation, 'tcp')) return ANONYMOUS;
    if (shown?.owner !== undefined && request.headers[PASSED_HEADER] === undefined) {
      const known = callers.known(shown.hash, clock.wall_ms());
      if (known !== undefined) {
        guard.rate.take(shown.name, toKind(operation));
        return admit(request, operation, known);
      }
    }
    return find(request, operation, shown);
  }

  function enter(request: IncomingMessage, operation: Operation, shown: ShownToken | undefined) {
    const turn = guard.turns.enter(shown?.owner ?? `address ${request.socket.remoteAddress}`);
    return turn === undefined ? go(request, operation, shown) : turn.then(() => go(request, operation, shown));
  }

  return (request, operation) => {
    const shown = readToken(request, guard);
    // The look comes before its turn, so that those who wait for an answer of the database do not all go on at once. A wrong token asks for none.
    const looked = shown?.owner === undefined ? undefined : callers.look();
    return looked === undefined
      ? enter(request, operation, shown)
      : looked.then(() => enter(request, operation, shown));
  };
}

const ANONYMOUS: Principal = { type: 'anonymous' };

function toKind(operation: Operation): CallKind {
  return operation.answer.kind === 'raw' ? 'gateway' : 'others';
}

interface ShownToken {
  readonly text: string;
  readonly hash: Buffer;
  /** What the rate limit knows it by: its hash as text. */
  readonly name: string;
  /** Its organization, if it was good when it was last looked up. */
  readonly owner: string | undefined;
}

/** Undefined for a header that holds no token. */
function readToken({ headers }: IncomingMessage, { rate }: Guard): ShownToken | undefined {
  const text = BEARER.exec(headers.authorization ?? '')?.[1];
  if (text === undefined) return undefined;
  const hash = toTokenHash(text);
  const name = hash.toString('latin1');
  return { text, hash, name, owner: rate.ownerOf(name) };
}

async function toPrincipal(
  shown: ShownToken | undefined,
  { headers, socket }: IncomingMessage,
  kind: CallKind,
  guard: Guard,
): Promise<Principal> {
  if (headers.authorization === undefined) return { type: 'anonymous' };
  if (shown === undefined) throw invalid();
  const { text, name } = shown;
  const trial = guard.rate.ownerOf(name) === undefined ? guard.wrong.begin(socket.remoteAddress) : undefined;
  guard.rate.take(name, kind);
  let caller: Caller | undefined;
  try {
    caller = await guard.callers.find(text, guard.clock.wall_ms());
  } catch (error) {
    trial?.forgive();
    throw error;
  }
  if (caller === undefined) {
    guard.rate.forget(name);
    throw invalid();
  }
  if (trial === undefined) return caller;
  trial.forgive();
  guard.rate.learn(name, caller.organization.id);
  guard.rate.take(name, kind);
  // No look has come before, and what is kept for other callers of its organization is kept for it as well.
  await guard.callers.look();
  return caller;
}

function invalid(): RemoraError {
  return new RemoraError('unauthorized', 'the token is not valid');
}
