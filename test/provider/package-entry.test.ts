// `remora/provider` as a program of a provider imports it: by its name, with types, and without what it does not use.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ProviderFunctions } from 'remora/provider';
import { describe, expect, it } from 'vitest';

/** Checked with the types of the entry, by the name of the package. */
const functions = {
  provision: ({ id, organization_id }) => ({ id, config: { OWNER: organization_id } }),
  update: () => undefined,
  read: (id) => ({ id, status: 'ready' }),
  remove: () => undefined,
} satisfies ProviderFunctions;

const root = new URL('../../', import.meta.url).pathname;

function run(program: string): string {
  return execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    cwd: root,
    encoding: 'utf8',
  });
}

it('is imported by the name of the package', () => {
  const program = `
    import { createProviderHandler, Secret, toNodeListener } from 'remora/provider';
    const handler = createProviderHandler({
      baseUrl: 'https://kv.test/remora',
      provisioningSecrets: () => [new Secret('s')],
      onError: console.error,
      provision: ({ id }) => ({ id, config: {} }),
      update: () => undefined,
      read: () => undefined,
      remove: () => undefined,
    });
    const answer = await handler(new Request('https://kv.test/remora/extensions/e1'));
    console.log(answer.status, typeof toNodeListener(handler));`;
  expect(run(program)).toBe('401 function\n');
});

it('loads neither SQLite nor a client of OAuth before they are used', () => {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded: string[] = [];
    registerHooks({
      resolve(name, context, next) {
        loaded.push(name);
        return next(name, context);
      },
    });
    await import('remora/provider');
    console.log(JSON.stringify(loaded));`;
  const loaded = JSON.parse(run(program)) as string[];
  expect(loaded).toContain('zod');
  expect(loaded.filter((name) => /better-sqlite3|oauth4webapi|undici/.test(name))).toEqual([]);
});

it('has types of its own for functions', () => {
  expect(functions.read('p1')).toEqual({ id: 'p1', status: 'ready' });
});

describe('package.json', () => {
  it('names an entry that exists, with the types in it', () => {
    const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, string> };
    expect(readFileSync(`${root}${exports['./provider']}`, 'utf8')).toContain('createProviderHandler');
  });
});
