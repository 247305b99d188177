// The build: what a source names by its path means the same in the built program, and what a bundler cannot follow fails.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentProgram } from '../../src/cli/agent-program.ts';
import { bundleProgram } from '../../src/cli/package/bundle.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const root = new URL('../../', import.meta.url).pathname;

/** Builds a package whose command is `front`, with these files below `src`. */
async function build(front: string, files: Readonly<Record<string, string>> = {}) {
  const dir = `${tempDir()}/`;
  for (const [name, text] of Object.entries({ 'cli/remora.js': front, ...files })) {
    mkdirSync(dirname(join(dir, 'src', name)), { recursive: true });
    writeFileSync(join(dir, 'src', name), text);
  }
  cpSync(join(root, 'bin'), join(dir, 'bin'), { recursive: true });
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  await bundleProgram({ root: dir, to: join(dir, 'dist'), hasMaps: false });
  return (program = 'remora.cjs') =>
    execFileSync(process.execPath, [join(dir, 'dist', program)], { encoding: 'utf8', stdio: 'pipe' });
}

const LAUNCHER = "console.log(new URL('../../bin/remora', import.meta.url).pathname.split('/').slice(-2).join('/'));\n";

describe('the build', () => {
  it('follows the paths of threads, programs and files', async () => {
    const front = `import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
console.log(readFileSync(new URL('./words.sh', import.meta.url), 'utf8').trim());
console.log(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).type);
console.log(new URL('./remora.js', import.meta.url).pathname === process.argv[1]);
${LAUNCHER}new Worker(new URL('./inner/thread.ts', import.meta.url));
`;
    const run = await build(front, {
      'cli/words.sh': 'words of a file\n',
      'cli/inner/thread.ts': "import { said } from './said.ts';\nconsole.log(said satisfies string);\n",
      'cli/inner/said.ts': "export const said: string = 'said in a thread';\n",
    });
    expect(run()).toBe('words of a file\nmodule\ntrue\ndist/remora\nsaid in a thread\n');
  });

  it('loads a part at its first use', async () => {
    const run = await build(`console.log('first');\nimport('./part.ts').then(({ later }) => later());\n${LAUNCHER}`, {
      'cli/part.ts': "console.log('loaded');\nexport const later = () => console.log('used');\n",
    });
    expect(run()).toBe('first\ndist/remora\nloaded\nused\n');
  });

  it.each([
    ['another use of import.meta', 'console.log(import.meta.dirname);', /import\.meta/],
    ['a file that is not there', "import './absent.ts';", /absent/],
    ['a name that is not exported', "import { absent } from './part.ts';\nconsole.log(absent);", /absent/],
    ['a wait at the top of a module', 'await 1;', /top-level await/],
  ])('refuses %s', async (_, line, message) => {
    await expect(build(`${LAUNCHER}${line}\n`, { 'cli/part.ts': 'export {};\n' })).rejects.toThrow(message);
  });
});

/** What a file loads when it is loaded itself. */
const atOnce = /^(?:const|let) \w+ = require\("\.\/([^"]+)"\)/gm;

describe.skipIf(process.env.REMORA_TEST_PROGRAM === undefined)('what tests start', () => {
  it('is the built program, for the sources of a test too', () => {
    expect(agentProgram.args).toContain(remoraPath);
    expect(readFileSync(remoraPath, 'utf8')).not.toContain('main.ts');
  });

  it('has an entry for each file that a source starts by its path', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const named = sources.flatMap((name) =>
      [...readFileSync(join(root, 'src', name), 'utf8').matchAll(/new URL\('([^']+\.ts)', import\.meta\.url\)/g)].map(
        ([, path = '']) => join(dirname(name), path),
      ),
    );
    expect(named.length).toBeGreaterThan(3);
    const entries = named.map((path) => path.replaceAll('/', '-').replace(/ts$/, 'cjs'));
    expect(entries.filter((name) => !existsSync(join(dirname(remoraPath), name)))).toEqual([]);
  });

  it('loads next to nothing into the heap of a thread', () => {
    const dir = dirname(remoraPath);
    const threads = readdirSync(dir).filter((name) => name.endsWith('-worker.cjs'));
    expect(threads.length).toBeGreaterThan(1);
    for (const name of threads) expect(readLoaded(dir, name).length, name).toBeLessThan(64 * 1024);
  });

  it('loads nothing for the parts of the agent before it can be reached', () => {
    const early = readLoaded(dirname(remoraPath), 'agent.cjs', atOnce);
    const needed = [...early.matchAll(/^(?:const|let) \w+ = require\("([^."][^"]*)"\)/gm)].map(([, name]) => name);
    expect(needed).toContain('node:net');
    const costly = ['crypto', 'child_process', 'worker_threads', 'http2', 'tls', 'https'].map((name) => `node:${name}`);
    expect(needed.filter((name = '') => [...costly, 'better-sqlite3'].includes(name))).toEqual([]);
    expect(early).not.toContain('// src/agent/open-parts.ts');
  });

  it('loads nothing into the supervisor that only the agent needs', () => {
    const dir = dirname(remoraPath);
    const ofSupervisor = /^\/\/ src\/supervisor\//m;
    const files = readdirSync(dir).filter((name) => name.endsWith('.cjs'));
    const parts = files.filter((name) => ofSupervisor.test(readFileSync(join(dir, name), 'utf8')));
    expect(parts).toEqual(expect.arrayContaining(['supervisor.cjs', 'services.cjs', 'processes.cjs', 'files.cjs']));
    const agentOnly = /require\("better-sqlite3"\)|^\/\/ src\/agent\/open-parts\.ts/m;
    expect(parts.filter((name) => agentOnly.test(readLoaded(dir, name, atOnce)))).toEqual([]);
    expect(agentOnly.test(readLoaded(dir, 'open-parts.cjs', atOnce))).toBe(true);
  });

  it('loads undici with no part of the agent, and with no command that asks an agent', () => {
    const dir = dirname(remoraPath);
    const files = readdirSync(dir).filter((name) => name.endsWith('.cjs'));
    const hasUndici = (name: string) => readLoaded(dir, name, atOnce).includes('// node_modules/undici/');
    expect(files.filter((name) => hasUndici(name))).toContain('outbound-undici.cjs');
    const own = /^\/\/ src\/(?:agent\/|cli\/(?:agent-client|inside\/sprite-door)\.ts)/m;
    expect(files.filter((name) => own.test(readFileSync(join(dir, name), 'utf8')) && hasUndici(name))).toEqual([]);
  });
});

/** The text of a file of the program, and of all that it loads; `loads` finds what. */
function readLoaded(dir: string, first: string, loads = /require\("\.\/([^"]+)"\)/g): string {
  const found = new Set([first]);
  let all = '';
  for (const name of found) {
    const text = readFileSync(join(dir, name), 'utf8');
    all += text;
    for (const [, path = ''] of text.matchAll(loads)) found.add(path);
  }
  return all;
}
