// The lines that GET /v1/gateway/list gives to be pasted, pasted: into a shell, into Python with nothing but its own library, and
// into Node as a script, as a module and at its prompt. The path of the socket is one that everything has to quote.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toSnippets } from '../../../src/agent/gateway/snippets.ts';
import { localListResponse } from '../../../src/contract/local/gateway.ts';
import { loudly } from '../../support/loudly.ts';
import { type ModelStack, openModelStack } from '../../support/model-stack.ts';
import { tempDir } from '../../support/temp-dir.ts';

const program = (name: string) => spawnSync(name, ['--version']).error === undefined;
const hasPython = !loudly(!program('python3'), 'there is no python3 to paste its snippet into');
const hasCurl = !loudly(!program('curl'), 'there is no curl to paste its snippet into');

/** Runs a program, with `input` as what is typed; its end is typed when the answer is there. Nothing of this process reaches it. */
async function paste(command: string, words: readonly string[], input?: string): Promise<string> {
  const child = spawn(command, words, { stdio: 'pipe', cwd: tempDir(), env: { PATH: process.env.PATH ?? '' } });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('model-1')) child.stdin.end();
    });
  }
  if (input === undefined) child.stdin.end();
  else child.stdin.write(input);
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect({ code, text }).toMatchObject({ code: 0 });
  return text;
}

async function openStack(): Promise<ModelStack> {
  const dir = join(tempDir(), 'o\'k $HOME "é" \\');
  mkdirSync(dir);
  return await openModelStack({ REMORA_SOCKET: join(dir, 's') });
}

async function snippetsOf(stack: ModelStack) {
  const { connections } = localListResponse.parse((await stack.agent.get('/v1/gateway/list')).json);
  const found = connections.find(({ id }) => id === 'conn_openai');
  if (found === undefined) throw new Error('the connector is not in the list');
  return { ...found.snippets, usage: found.usage_snippet ?? '' };
}

const ways = [
  ['curl, in a shell', 'curl', hasCurl, 'sh', ['-c']],
  ['usage, in a shell', 'usage', hasCurl, 'sh', ['-c']],
  ['python, as a program', 'python', hasPython, 'python3', ['-I', '-S', '-c']],
  ['python, at its prompt', 'python', hasPython, 'python3', ['-I', '-S', '-q', '-i']],
  ['node, as a script', 'node', true, process.execPath, ['--input-type=commonjs', '-e']],
  ['node, as a module', 'node', true, process.execPath, ['--input-type=module', '-e']],
  ['node, at its prompt', 'node', true, process.execPath, ['-i']],
] as const;

describe('a snippet', () => {
  it('works as pasted', async () => {
    const stack = await openStack();
    const snippets = await snippetsOf(stack);
    for (const [name, which, isThere, command, words] of ways) {
      if (!isThere) continue;
      const isTyped = words.at(-1) === '-i';
      const pasted = snippets[which];
      const text = await (isTyped ? paste(command, words, `${pasted}\n`) : paste(command, [...words, pasted]));
      expect({ name, text }).toEqual({ name, text: expect.stringContaining('"id":"model-1"') });
      expect({ name, target: stack.provider.calls.at(-1)?.target }).toEqual({ name, target: '/v1/models' });
    }
    expect(stack.provider.calls).toHaveLength(ways.filter(([, , isThere]) => isThere).length);
  });
});

describe('the line of every row that shows one', () => {
  it.skipIf(!hasCurl)('works as pasted, without a token', async () => {
    const stack = await openStack();
    const shown = z.object({ usage_snippet: z.string() });
    const [connections, connection, providers, guide] = await Promise.all(
      [
        '/v1/oauth/connections',
        '/v1/oauth/connections/conn_openai',
        '/v1/gateway/providers?provider=openai',
        '/v1/gateway/guide',
      ].map(async (path) => await stack.agent.get(path)),
    );
    const lines = [
      ...z
        .object({ connections: z.array(shown) })
        .parse(connections?.json)
        .connections.map((one) => one.usage_snippet),
      z.object({ connection: shown }).parse(connection?.json).connection.usage_snippet,
      ...z
        .object({ providers: z.array(shown) })
        .parse(providers?.json)
        .providers.map((one) => one.usage_snippet),
      ...[...(guide?.text ?? '').matchAll(/try: `(curl .*)`$/gm)].map(([, line]) => line ?? ''),
    ];
    expect(lines).toHaveLength(3 + 1 + 1 + 3);
    for (const line of lines) {
      const before = stack.provider.calls.length;
      await paste('sh', ['-c', line]);
      expect({ line, calls: stack.provider.calls.length - before }).toEqual({ line, calls: 1 });
      expect(stack.provider.calls.at(-1)?.target).toBe('/v1/models');
    }
  });
});

describe('a path with signs of the shell and of curl', () => {
  it('is kept byte for byte', () => {
    const { curl, python, node } = toSnippets('/run/a b', "http://remora/v1/{a}/[1]'$x");
    expect(curl).toBe(`curl --globoff --unix-socket '/run/a b' 'http://remora/v1/{a}/[1]'\\''$x'`);
    expect(python).toContain(`call.request("GET", "/v1/{a}/[1]'$x")`);
    expect(node).toContain(`path: "/v1/{a}/[1]'$x"`);
  });
});
