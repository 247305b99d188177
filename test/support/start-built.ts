// Has the sources that run in the process of a test start the threads and processes of the built program, as that one does.
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vitest/config';
import { replaceNamed, toEntryName } from '../../src/cli/package/started-files.ts';

const root = new URL('../../', import.meta.url).pathname;

/** `program`: the path of the built command. */
export function startBuilt(program: string): Plugin {
  return {
    name: 'remora:start-built',
    enforce: 'pre',
    // What Vitest keeps of a file for later runs names the program of its own run.
    configureVitest({ defineCacheKeyGenerator }) {
      defineCacheKeyGenerator(({ sourceCode }) => (sourceCode.includes('import.meta') ? program : undefined));
    },
    transform(code, id) {
      if (!id.startsWith(`${root}src/`)) return undefined;
      const text = replaceNamed(code, { id, root }, (place) => {
        const entry = toEntryName(place);
        return entry === undefined ? undefined : pathToFileURL(join(dirname(program), entry)).href;
      });
      return text === code ? undefined : { code: text, map: null };
    },
  };
}
