// Finds the sprite that a command reaches into: that of this machine, over the socket of its agent, or one of a platform.
import { join } from 'node:path';
import { OPERATOR_SOCKET, ORGANIZATION_HEADER } from '../../contract/organizations.ts';
import { spriteName } from '../../contract/sprites.ts';
import type { Secret } from '../../core/secret.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { findSocketPath } from '../socket-path.ts';
import { findTarget } from '../target/target.ts';

export interface Entrance {
  /** Undefined for the sprite of this machine. */
  readonly sprite: string | undefined;
  /** Scheme, host and, when the server has one, a base path. */
  readonly origin: string;
  /** Undefined where the origin is an address. */
  readonly socketPath: string | undefined;
  /** What the paths of the operations begin with. */
  readonly prefix: string;
  readonly token: Secret | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

type Words = Pick<Invocation, 'text' | 'env' | 'out'>;

/**
 * The first of: --socket; `named` or --sprite; REMORA_SPRITE with --url; REMORA_SOCKET; REMORA_SPRITE; the agent of this machine. Throws
 * UsageError for flags that exclude each other, and where no platform or no token for it is known.
 */
export function findEntrance(words: Words, named?: string): Entrance {
  const sprite = chooseSprite(words, named);
  if (sprite === undefined) {
    const socketPath = findSocketPath(words.text('socket'), words.env);
    return { sprite, origin: 'http://remora', socketPath, prefix: '/v1', token: undefined, headers: {} };
  }
  if (!spriteName.safeParse(sprite).success) throw new UsageError(`${sprite} is no name of a sprite`);
  const prefix = `/v1/sprites/${sprite}`;
  const organization = words.text('organization');
  const target = findTarget(words);
  if (target.type === 'local') {
    const headers = organization === undefined ? {} : { [ORGANIZATION_HEADER]: organization };
    const socketPath = join(target.dir, OPERATOR_SOCKET);
    return { sprite, origin: 'http://platform', socketPath, prefix, token: undefined, headers };
  }
  if (organization !== undefined) {
    throw new UsageError("--organization is for the platform's own machine; elsewhere the token says which one it is");
  }
  return { sprite, origin: target.url, socketPath: undefined, prefix, token: target.token, headers: {} };
}

function chooseSprite({ text, env }: Words, named: string | undefined): string | undefined {
  const flag = text('sprite');
  if (named !== undefined && flag !== undefined && named !== flag) {
    throw new UsageError(`--sprite says ${flag} and the operand ${named}; name one sprite`);
  }
  const asked = named ?? flag;
  if (text('socket') !== undefined) {
    const other = asked === undefined ? ['url', 'dir'].find((each) => text(each) !== undefined) : 'sprite';
    if (other === undefined) return undefined;
    throw new UsageError(`--socket is the agent of this machine, and --${other} leads elsewhere; give one of them`);
  }
  if (asked !== undefined) return asked;
  if (text('url') === undefined && text('dir') === undefined && env.REMORA_SOCKET) return undefined;
  if (env.REMORA_SPRITE) return env.REMORA_SPRITE;
  if (text('url') === undefined && text('dir') === undefined) return undefined;
  throw new UsageError('which sprite of that platform? --sprite NAME, or REMORA_SPRITE');
}
