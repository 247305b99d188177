// The shape of the source, read from its imports: who may import whom, which packages each part may use, where randomness
// comes from, and that what decides touches nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../src/', import.meta.url).pathname;

/** design.md, section 1. A folder may always import itself. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  core: ['contract'],
  http: ['contract', 'core'],
  sqlite: ['core'],
  client: ['contract', 'core'],
  agent: ['contract', 'core', 'http', 'sqlite', 'client'],
  platform: ['contract', 'core', 'http', 'sqlite', 'client'],
  provider: ['contract', 'core'],
  cli: ['contract', 'core', 'http', 'sqlite', 'client', 'agent', 'platform', 'provider'],
};

const packages: Readonly<Record<string, readonly string[]>> = {
  contract: ['zod'],
  core: ['zod'],
  http: ['zod', 'undici', 'rou3', 'ws'],
  sqlite: ['better-sqlite3'],
  client: ['zod', 'undici', 'split2'],
  agent: ['zod', 'undici', 'ws', 'pino', 'prom-client', 'smol-toml'],
  platform: ['zod', 'undici', 'ws', 'pino', 'postgres', 'prom-client', 'smol-toml', 'ipaddr.js', 'oauth4webapi'],
  provider: ['zod'],
  cli: ['zod', 'undici', 'ws', 'pino', 'smol-toml', 'better-sqlite3'],
};

/** What of Node computes and touches nothing outside the process. */
const pureModules = ['node:util', 'node:buffer', 'node:crypto', 'node:url', 'node:assert'];

/** The one file that may ask for randomness, and the one of core that touches the world. */
const RANDOMNESS = 'core/urandom.ts';

const randomNames =
  /\b(Math\s*\.\s*random|getRandomValues|randomUUID|randomFill(Sync)?|randomInt|generateKey(Pair)?(Sync)?)\b/;
const randomMember = /\.\s*(randomBytes|randomUUID|pseudoRandomBytes)\b/;
const randomImport = /import\s*\{[^}]*\b(randomBytes|pseudoRandomBytes)\b[^}]*\}\s*from\s*['"](node:)?crypto['"]/;

interface Source {
  /** Below `src/`. */
  readonly path: string;
  readonly text: string;
}

function readSources(): Source[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?[jt]s$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Comments may speak of what code may not do. */
function withoutComments(text: string): string {
  return text.replaceAll(/(^|[\s({,;])\/\*[\s\S]*?\*\//g, '$1').replaceAll(/(^|[\s;{}(),])\/\/.*$/gm, '$1');
}

function importsOf({ text }: Source): string[] {
  const code = withoutComments(text);
  const found = [
    ...code.matchAll(/^\s*(?:import|export)\b[^;'"]*?\bfrom\s*['"]([^'"]+)['"]/gm),
    ...code.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gm),
    ...code.matchAll(/\b(?:import|require)\s*\(\s*['"`]([^'"`]+)['"`]/g),
  ];
  const unreadable = [...code.matchAll(/\b(?:import|require)\s*\(\s*(?!['"`])\S+/g)].map(() => 'computed:import');
  return [...found.map((match) => match[1] ?? ''), ...unreadable];
}

/** What is wrong with one file, in words; empty when nothing is. */
function faultsOf(source: Source): string[] {
  const folder = source.path.split('/')[0] ?? '';
  const allowed = arrows[folder];
  if (allowed === undefined) return [`${source.path}: src/${folder} is not a part of the product`];
  const faults: string[] = [];
  for (const name of importsOf(source)) {
    const fault = name.startsWith('.')
      ? faultOfPath(source.path, folder, name)
      : faultOfPackage(source.path, folder, name);
    if (fault !== undefined) faults.push(`${source.path}: ${fault}`);
  }
  const code = withoutComments(source.text);
  const random =
    source.path !== RANDOMNESS && [randomNames, randomMember, randomImport].some((each) => each.test(code));
  if (random) faults.push(`${source.path}: takes randomness from the process instead of ${RANDOMNESS}`);
  return faults;
}

function faultOfPath(path: string, folder: string, name: string): string | undefined {
  const target = normalize(join(dirname(path), name));
  if (target.startsWith('..')) return target === '../package.json' ? undefined : `imports ${name} outside src`;
  const other = target.split('/')[0] ?? '';
  return other === folder || arrows[folder]?.includes(other)
    ? undefined
    : `${folder} may not import ${other} (${name})`;
}

function faultOfPackage(path: string, folder: string, name: string): string | undefined {
  if (name === 'computed:import') return 'has an import whose target cannot be read';
  if (name.startsWith('node:')) {
    if (folder === 'contract') return `contract may not import ${name}`;
    const touches = folder === 'core' && path !== RANDOMNESS && !pureModules.includes(name);
    return touches ? `core may not touch the world (${name})` : undefined;
  }
  const bare = name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
  return packages[folder]?.includes(bare) ? undefined : `${folder} may not use the package ${bare}`;
}

test('every import of the source is one that its part may have, and randomness has one source', () => {
  const sources = readSources();
  expect(sources.length).toBeGreaterThan(20);
  expect(sources.flatMap(faultsOf)).toEqual([]);
});

test('no import of the source is overlooked', () => {
  for (const { path, text } of readSources()) {
    const statements = text
      .split('\n')
      .filter((line) => /^(import|export|\}).*\sfrom '[^']+';$|^import '[^']+';$/.test(line));
    expect(importsOf({ path, text }).length, path).toBeGreaterThanOrEqual(statements.length);
  }
});

test.each([
  ['agent/a.ts', "import { x } from '../platform/x.ts';", 'agent may not import platform'],
  ['platform/a.ts', "import type { X } from '../agent/x.ts';", 'platform may not import agent'],
  ['provider/sub/a.ts', "export { x } from '../../http/x.ts';", 'provider may not import http'],
  ['core/a.ts', "const x = await import('../http/x.ts');", 'core may not import http'],
  ['core/a.ts', "import {\n  x,\n  y,\n} from '../sqlite/open.ts';", 'core may not import sqlite'],
  ['contract/a.ts', "import '../core/x.ts';", 'contract may not import core'],
  ['http/a.ts', "import { x } from '../cli/x.ts';", 'http may not import cli'],
  ['client/a.ts', "import { x } from '../../test/x.ts';", 'outside src'],
  ['utils/a.ts', '', 'not a part of the product'],
  ['contract/a.ts', "import { z } from 'zod/mini';\nimport pino from 'pino';", 'may not use the package pino'],
  ['contract/a.ts', "import { readFileSync } from 'node:fs';", 'contract may not import node:fs'],
  ['core/a.ts', "import { createServer } from 'node:http';", 'core may not touch the world (node:http)'],
  ['core/a.ts', "import { spawn } from 'node:child_process';", 'core may not touch the world (node:child_process)'],
  ['core/a.ts', "import { request } from 'undici';", 'may not use the package undici'],
  ['agent/a.ts', "import fs from 'fs';", 'may not use the package fs'],
  ['agent/a.ts', 'const x = await import(name);', 'cannot be read'],
  ['agent/a.ts', 'const x = Math.random();', 'randomness'],
  ['agent/a.ts', "import { randomBytes } from 'node:crypto';", 'randomness'],
  ['agent/a.ts', "import { createHmac, randomUUID } from 'node:crypto';", 'randomness'],
  ['agent/a.ts', 'const x = crypto.getRandomValues(new Uint8Array(8));', 'randomness'],
  ['agent/a.ts', 'const x = nodeCrypto.randomBytes(8);', 'randomness'],
  ['agent/a.ts', "const any = '*/*';\nconst x = Math.random(); /* y */", 'randomness'],
  ['core/other.ts', 'const x = globalThis.crypto.randomUUID();', 'randomness'],
])('a bad sample is refused: %s with %j', (path, text, expected) => {
  expect(faultsOf({ path, text })).toEqual([expect.stringContaining(expected)]);
});

test.each([
  ['agent/a.ts', "import { randomBytes } from '../core/urandom.ts';\nconst x = randomBytes(8);"],
  ['agent/a.ts', '// never Math.random\n/** nor randomUUID */\nconst url = "https://example.com"; // Math.random'],
  ['core/a.ts', "import { createHash } from 'node:crypto';\nimport type { X } from '../contract/x.ts';"],
  ['core/urandom.ts', "import { openSync } from 'node:fs';"],
  ['cli/a.ts', "const agent = await import('../agent/agent.ts');"],
])('a good sample passes: %s with %j', (path, text) => {
  expect(faultsOf({ path, text })).toEqual([]);
});
