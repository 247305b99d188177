// `npm run build`: makes `dist`, which is what the package ships. The program is built into few files; what other programs import is compiled file by
// file, with its types. What was there before stays until all of it is made.
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleProgram } from './bundle.ts';
import { toLicenses } from './to-licenses.ts';

const root = new URL('../../../', import.meta.url).pathname;
const [built, early] = [join(root, 'dist'), join(root, 'dist~')];

rmSync(early, { recursive: true, force: true });
await bundleProgram({ root, to: early, hasMaps: true });
const compiler = join(root, 'node_modules/.bin/tsc');
execFileSync(compiler, ['-p', 'tsconfig.package.json', '--checkers', '1', '--outDir', join(early, 'lib')], {
  cwd: root,
  stdio: 'inherit',
});
writeFileSync(join(early, 'LICENSES'), toLicenses(root));
rmSync(built, { recursive: true, force: true });
renameSync(early, built);
