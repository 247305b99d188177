// Passwords: scrypt in the thread pool of Node, so that the event loop goes on; few at once, because each takes memory and a core.
import { scrypt, timingSafeEqual } from 'node:crypto';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { randomBytes } from '../../core/urandom.ts';

export interface Passwords {
  /** The text to store: parameters, salt and hash. Throws `too_many_requests` when too many are waiting. */
  hash(password: Secret): Promise<string>;
  /** Takes the same time with `stored` undefined, and is then false. Throws `too_many_requests` when too many are waiting. */
  check(password: Secret, stored: string | undefined): Promise<boolean>;
}

/** The parameters of scrypt. */
export interface PasswordCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** 32 MB and about a tenth of a second. */
const COST: PasswordCost = { N: 2 ** 15, r: 8, p: 1 };
const MEMORY_MAX_BYTES = 128 * 1024 * 1024;
const STORED = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([\w+/=]{8,64})\$([\w+/=]{16,128})$/;

/** Two of the four threads of the pool, which files need as well. */
const AT_ONCE = 2;
const WAITING_MAX = 32;

export function createPasswords(cost: PasswordCost = COST): Passwords {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function derive(password: Secret, salt: Buffer, { N, r, p }: PasswordCost, length: number): Promise<Buffer> {
    if (running >= AT_ONCE) {
      if (waiting.length >= WAITING_MAX) {
        throw new RemoraError('too_many_requests', 'too many people sign in at once; try again in a moment', {
          retryAfter_ms: 1_000,
        });
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        const options = { N, r, p, maxmem: MEMORY_MAX_BYTES };
        scrypt(password.reveal(), salt, length, options, (error, key) => (error ? reject(error) : resolve(key)));
      });
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const key = await derive(password, salt, cost, KEY_BYTES);
      return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), key.toString('base64')].join('$');
    },
    async check(password, stored) {
      const [, N, r, p, salt = '', key = ''] = STORED.exec(stored ?? '') ?? [];
      if (N === undefined) {
        await derive(password, Buffer.alloc(SALT_BYTES), cost, KEY_BYTES);
        return false;
      }
      const expected = Buffer.from(key, 'base64');
      const parameters = { N: Number(N), r: Number(r), p: Number(p) };
      const found = await derive(password, Buffer.from(salt, 'base64'), parameters, expected.length);
      return timingSafeEqual(found, expected);
    },
  };
}
