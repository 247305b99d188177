// `npm run docs`: makes the reference tables again, from the contract, the settings and the commands.
import { readFileSync, writeFileSync } from 'node:fs';
import { replaceMadeParts } from './made-parts.ts';
import { pages } from './pages.ts';

const root = new URL('../../../', import.meta.url);

for (const { path, parts } of pages) {
  const file = new URL(path, root);
  const before = readFileSync(file, 'utf8');
  const after = replaceMadeParts(before, parts);
  if (after === before) continue;
  writeFileSync(file, after);
  console.log(`${path} written`);
}
