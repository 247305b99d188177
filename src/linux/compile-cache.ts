// Where this process keeps what Node has compiled, for the processes that it starts.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/** What the environment of a child gets; empty where this process keeps nothing. Without it a child strips and compiles its sources at each start. */
export function toCompileCacheVariable(): { readonly NODE_COMPILE_CACHE?: string } {
  const own = getCompileCacheDir();
  // Each version of Node has a directory of its own there.
  return own === undefined ? {} : { NODE_COMPILE_CACHE: dirname(own) };
}
