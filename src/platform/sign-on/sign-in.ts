// Checks an email address with a password. A wrong name and a wrong password have one answer, which takes the same time.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { toNetwork } from '../tokens/to-network.ts';
import { createWrongTokens, type WrongTokenRates } from '../tokens/wrong-tokens.ts';
import type { Passwords } from '../users/passwords.ts';
import type { User, UserStore } from '../users/user-store.ts';
import type { LockOutStore } from './lock-out-store.ts';

export type SignInResult =
  | { readonly type: 'user'; readonly user: User }
  | { readonly type: 'wrong' }
  /** Nothing was tried. */
  | { readonly type: 'wait'; readonly retryAfter_ms: number };

export interface SignInDeps {
  readonly users: Pick<UserStore, 'findByEmail' | 'readPasswordHash'>;
  readonly passwords: Pick<Passwords, 'check'>;
  readonly lockOuts: LockOutStore;
  readonly clock: Clock;
  readonly rates?: WrongTokenRates | undefined;
}

export interface Visitor {
  readonly address: string | undefined;
  /** Whether somebody has signed in with this email address in the same browser. */
  readonly isKnown: boolean;
}

export type SignIn = (email: string, password: Secret, visitor: Visitor) => Promise<SignInResult>;

/** Wrong passwords of strangers from one address, and from all: each costs a tenth of a second of a core. */
const RATES: WrongTokenRates = { ofAddress: { burst: 20, perSecond: 0.2 }, ofAll: { burst: 200, perSecond: 5 } };

export function createSignIn({ users, passwords, lockOuts, clock, rates = RATES }: SignInDeps): SignIn {
  const wrong = createWrongTokens(() => clock.mono_ms(), rates);

  async function check(email: string, password: Secret, { address, isKnown }: Visitor): Promise<SignInResult> {
    const place = isKnown ? 'browsers that are known' : `network ${toNetwork(address ?? '')}`;
    const wait_ms = await lockOuts.begin({ email, place }, clock.wall_ms());
    if (wait_ms > 0) return { type: 'wait', retryAfter_ms: wait_ms };
    const user = await users.findByEmail(email.trim());
    const stored = await users.readPasswordHash(user?.id ?? '');
    const isRight = await passwords.check(password, stored);
    if (!isRight || user === undefined) return { type: 'wrong' };
    await lockOuts.clear({ email, place });
    return { type: 'user', user };
  }

  return async (email, password, visitor) => {
    try {
      const trial = visitor.isKnown ? undefined : wrong.begin(visitor.address);
      const result = await check(email, password, visitor);
      if (result.type === 'user') trial?.forgive();
      return result;
    } catch (error) {
      if (!(error instanceof RemoraError) || error.code !== 'too_many_requests') throw error;
      return { type: 'wait', retryAfter_ms: error.retryAfter_ms ?? 1_000 };
    }
  };
}
