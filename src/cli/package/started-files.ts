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

/** The name of a program or a thread in the directory of the build; undefined for what is no code of the program. `place`: below the package. */
export function toEntryName(place: string): string | undefined {
  if (place === FRONT_SOURCE) return FRONT;
  return place.startsWith('src/') && place.endsWith('.ts') ? toFlatName(place).replace(/ts$/, 'cjs') : undefined;
}

/**
 * Has `toAddress` say the address of each file that the source `id` names by its own path; where it says undefined, the name stays. Every line
 * stays where it is. `root`: the directory of the package; ends with a slash.
 */
export function replaceNamed(
  code: string,
  { id, root }: { readonly id: string; readonly root: string },
  toAddress: (place: string) => string | undefined,
): string {
  return code.replaceAll(NAMED, (whole, name: string) => {
    const address = toAddress(relative(root, resolve(dirname(id), name)));
    return address === undefined ? whole : `new URL('${address}', import.meta.url)`;
  });
}

/** Has every named file mean the same in the built program, whose files lie in one directory below the package. The build fails for every
 * other use of `import.meta`. */
export function takeStartedFiles(root: string): Plugin {
  return {
    name: 'remora:started-files',
    transform: {
      filter: { id: /\/src\/.*\.[jt]s$/, code: 'import.meta' },
      handler(code, id) {
        if (!id.startsWith(`${root}src/`)) return undefined;
        if (/\bimport\.meta\b/.test(code.replaceAll(NAMED, '').replace(REQUIRE, ''))) {
          this.error('it uses import.meta in a way that the build does not know');
        }
        const text = replaceNamed(code.replace(REQUIRE, ''), { id, root }, (place) => {
          const entry = toEntryName(place);
          if (entry !== undefined) {
            if (entry !== FRONT) this.emitFile({ type: 'chunk', id: `${root}${place}`, fileName: entry });
            return `./${entry}`;
          }
          const copy = toCopyName(place);
          if (copy === undefined) return `../${place}`;
          this.emitFile({ type: 'asset', fileName: copy, source: readCopy(root, place) });
          return `./${copy}`;
        });
        return { code: text, map: null };
      },
    },
  };
}

function toCopyName(place: string): string | undefined {
  if (place === LAUNCHER_SOURCE) return LAUNCHER;
  return place.startsWith('src/') ? toFlatName(place) : undefined;
}

function readCopy(root: string, place: string): string {
  const text = readFileSync(`${root}${place}`, 'utf8');
  return place === LAUNCHER_SOURCE ? text.replace(FRONT_SOURCE, `dist/${FRONT}`) : text;
}

function toFlatName(place: string): string {
  return place.slice('src/'.length).replaceAll('/', '-');
}
