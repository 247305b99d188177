// What a source names by its own path: threads, processes and files. In the built program each of them is an entry of its own, or a copy.
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Plugin } from 'rolldown';

const NAMED = /new URL\('([^']+)', import\.meta\.url\)/g;
/** The bundler follows calls of `require` by itself. */
const REQUIRE = /^const require = createRequire\(import\.meta\.url\);$/m;

/** The front of the program, in the directory of the build. */
export const FRONT = 'remora.cjs';
const FRONT_SOURCE = 'src/cli/remora.js';
/** Starts the front, which it names by its path below the package. */
export const LAUNCHER = 'remora';
const LAUNCHER_SOURCE = 'bin/remora';

/**
 * Has every named file mean the same in the built program, whose files lie in one directory below the package.
 * `root`: the directory of the package. The build fails for every other use of `import.meta`.
 */
export function takeStartedFiles(root: string): Plugin {
  return {
    name: 'remora:started-files',
    transform: {
      filter: { id: /\/src\/.*\.[jt]s$/, code: 'import.meta' },
      handler(code, id) {
        if (!id.startsWith(`${root}src/`)) return undefined;
        const toBuilt = (place: string): string => {
          if (place === FRONT_SOURCE) return `./${FRONT}`;
          if (place === LAUNCHER_SOURCE) {
            const source = readFileSync(`${root}${place}`, 'utf8').replace(FRONT_SOURCE, `dist/${FRONT}`);
            this.emitFile({ type: 'asset', fileName: LAUNCHER, source });
            return `./${LAUNCHER}`;
          }
          if (!place.startsWith('src/')) return `../${place}`;
          const flat = place.slice('src/'.length).replaceAll('/', '-');
          if (!flat.endsWith('.ts')) {
            this.emitFile({ type: 'asset', fileName: flat, source: readFileSync(`${root}${place}`) });
            return `./${flat}`;
          }
          const fileName = flat.replace(/ts$/, 'cjs');
          this.emitFile({ type: 'chunk', id: `${root}${place}`, fileName });
          return `./${fileName}`;
        };
        if (/\bimport\.meta\b/.test(code.replaceAll(NAMED, '').replace(REQUIRE, ''))) {
          this.error('it uses import.meta in a way that the build does not know');
        }
        const text = code.replace(REQUIRE, '').replaceAll(NAMED, (_, name: string) => {
          const place = relative(root, resolve(dirname(id), name));
          return `new URL('${toBuilt(place)}', import.meta.url)`;
        });
        // Every line stays where it is.
        return { code: text, map: null };
      },
    },
  };
}
