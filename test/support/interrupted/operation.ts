// An operation inside a sprite that can be interrupted, and what has to hold then.
import type { KillablePlatform } from '../killable-platform.ts';

export interface Operation {
  readonly name: string;
  /** It ends by itself, and on a slow machine it may have done so. */
  readonly mayBeOver?: true;
  /** Runs before any operation begins. */
  prepare?(platform: KillablePlatform): Promise<void>;
  /** Resolves when it is in the middle. */
  begin(platform: KillablePlatform): Promise<BegunOperation>;
}

export interface BegunOperation {
  /** How it ended for its caller: see `OpenCall` and `OpenSocket`. */
  ending(): Promise<string>;
  /** Throws unless the machine is in the state in which an interrupted call may leave it. */
  left(): Promise<void>;
  /** The same operation once more. Throws when it does not succeed. */
  again(): Promise<void>;
}
