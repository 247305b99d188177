// The licences of the packages that are built into the program.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toProductionPackages } from './production-packages.ts';

const LICENCE = /^licen[cs]e(?:\.(?:md|txt))?$/i;

/** One text, the packages in the order of their names. Of those whose package has no such file, the name of the licence. `root`: with `node_modules`. */
export function toLicenses(root: string): string {
  const paths = toProductionPackages(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const there = paths.filter((path) => existsSync(join(root, path, 'package.json')));
  const texts = there.map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, path)).find((each) => LICENCE.test(each));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(root, path, file), 'utf8').trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return texts.join(`\n${'-'.repeat(72)}\n\n`);
}
