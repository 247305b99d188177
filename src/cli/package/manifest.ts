// What `npm pack` packs: the program and what other programs import, built, because Node strips no types below `node_modules`. While it packs,
// package.json is that of the package; `node manifest.ts in` puts it there, and `node manifest.ts out` puts the one of the sources back.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { nativePackages } from './bundle.ts';
import { FRONT } from './started-files.ts';

interface Manifest extends Readonly<Record<string, unknown>> {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const root = new URL('../../../', import.meta.url).pathname;
const manifestPath = join(root, 'package.json');
/** What other programs import; the built program has its packages in it. */
const compiled = join(root, 'dist/lib');
/** Where the one of the sources waits; a run that was killed leaves it there. */
const kept = join(root, 'package.source.json');

/** The end of a statement, or a call for later. */
const imported = /(?:^|\} |[\w*] )(?:from|import) '([^'.][^']*)';$|\bimport\('([^'.][^']*)'\)/gm;

/** The packages that are not in the built program, and those that the compiled files import, at the versions of the sources. Throws for one that
 * these do not name. */
function toDependencies({ dependencies }: Manifest): Record<string, string> {
  const files = readdirSync(compiled, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(?:js|d\.ts)$/.test(path),
  );
  const names = files.flatMap((path) => {
    const text = readFileSync(join(compiled, path), 'utf8');
    return [...text.matchAll(imported)].map(([, name = '', later = '']) => name || later);
  });
  const packages = [...new Set([...nativePackages, ...names])].filter((name) => name !== '' && !isBuiltin(name)).sort();
  return Object.fromEntries(
    packages.map((name) => {
      const version = dependencies[name];
      if (version === undefined) throw new Error(`the package imports ${name}, which package.json does not name`);
      return [name, version];
    }),
  );
}

function putIn(): void {
  if (existsSync(kept)) renameSync(kept, manifestPath);
  const source: Manifest = JSON.parse(readFileSync(manifestPath, 'utf8'));
  const { name, version, description, license, type, engines } = source;
  const { build, prepack, postpack } = source.scripts;
  const packed = {
    name,
    version,
    description,
    license,
    private: true,
    type,
    engines,
    bin: { remora: `./dist/${FRONT}` },
    exports: {
      './client': toEntry('client'),
      './provider': toEntry('provider'),
      './package.json': './package.json',
    },
    files: ['dist', '!dist/**/*.map', 'src/provider/README.md'],
    // These let the next `npm pack` put right what one that was killed has left.
    scripts: { build, prepack, postpack },
    dependencies: toDependencies(source),
  };
  renameSync(manifestPath, kept);
  writeFileSync(manifestPath, `${JSON.stringify(packed, undefined, 2)}\n`);
}

function putBack(): void {
  renameSync(kept, manifestPath);
}

function toEntry(folder: string): { readonly types: string; readonly default: string } {
  return { types: `./dist/lib/${folder}/index.d.ts`, default: `./dist/lib/${folder}/index.js` };
}

if (process.argv[2] === 'in') putIn();
else putBack();
