import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHooks } from '../../../src/agent/hooks/hooks.ts';
import { listHooks } from '../../../src/agent/hooks/list-hooks.ts';
import { loudly } from '../../support/loudly.ts';
import { tempDir } from '../../support/temp-dir.ts';

function hookDir() {
  const directory = tempDir();
  const log = join(directory, 'log');
  for (const name of ['pre-suspend.d', 'post-resume.d']) mkdirSync(join(directory, name));
  const add = (path: string, script: string, mode = 0o755) => {
    const file = join(directory, path);
    writeFileSync(file, `#!/bin/sh\n${script.replaceAll('LOG', log)}\n`);
    chmodSync(file, mode);
  };
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { directory, add, lines, log };
}

const note = (name: string) => `echo "${name} $1" >> LOG`;
const hooksIn = (directory: string, limits = {}) => createHooks({ directory, generation: () => 4, ...limits });

describe('before a suspend', () => {
  it('runs last in first out', async () => {
    const { directory, add, lines } = hookDir();
    for (const name of ['10-db', '20-cache', '30-mount']) add(`pre-suspend.d/${name}`, note(name));
    const results = await hooksIn(directory).preSuspend({});
    expect(lines()).toEqual(['30-mount pre-suspend', '20-cache pre-suspend', '10-db pre-suspend']);
    expect(results.every((result) => result.ok)).toBe(true);
  });

  it('cancels when one fails, undoes those that ran, and says what it wrote', async () => {
    const { directory, add, lines } = hookDir();
    add('pre-suspend.d/10-never', note('10-never'));
    add('pre-suspend.d/20-bad', 'echo "disk is busy" >&2; exit 3');
    add('pre-suspend.d/30-a', note('30-a'));
    add('pre-suspend.d/40-b', note('40-b'));
    await expect(hooksIn(directory).preSuspend({})).rejects.toMatchObject({
      code: 'hook_failed',
      message: expect.stringMatching(/20-bad.*exit code 3: disk is busy/),
    });
    expect(lines()).toEqual(['40-b pre-suspend', '30-a pre-suspend', '30-a undo', '40-b undo']);
  });

  it('cancels when one hangs, and ends all that it started', async () => {
    const { directory, add, log } = hookDir();
    add('pre-suspend.d/10-hang', 'sleep 60 & echo $! > LOG; wait');
    // Long enough that the hook has started what it waits for, however busy the machine is.
    const hooks = hooksIn(directory, { hookDeadline_ms: 4_000 });
    await expect(hooks.preSuspend({})).rejects.toThrow(/did not end within 4000 ms/);
    const pid = Number(readFileSync(log, 'utf8'));
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('undoes once when the platform refuses afterwards', async () => {
    const { directory, add, lines } = hookDir();
    add('pre-suspend.d/10-a', note('10-a'));
    const hooks = hooksIn(directory);
    await hooks.preSuspend({});
    await hooks.undo('refused');
    await hooks.undo('refused');
    expect(lines()).toEqual(['10-a pre-suspend', '10-a undo']);
  });
});

describe('after a resume', () => {
  it('runs first in first out, goes on after a failure, and has nothing to undo', async () => {
    const { directory, add, lines } = hookDir();
    add('pre-suspend.d/10-a', note('10-a'));
    add('post-resume.d/10-a', note('10-a'));
    add('post-resume.d/20-bad', 'exit 1');
    add('post-resume.d/30-c', note('30-c'));
    const hooks = hooksIn(directory);
    await hooks.preSuspend({});
    const results = await hooks.postResume({ cause: 'restore' });
    expect(results.map((result) => [result.name, result.ok])).toEqual([
      ['10-a', true],
      ['20-bad', false],
      ['30-c', true],
    ]);
    await hooks.undo('too late');
    expect(lines()).toEqual(['10-a pre-suspend', '10-a post-resume', '30-c post-resume']);
  });

  it('kills one that hangs and keeps all of them within the common deadline', async () => {
    const { directory, add } = hookDir();
    for (const name of ['10', '20', '30']) add(`post-resume.d/${name}`, 'sleep 60');
    const started = performance.now();
    const results = await hooksIn(directory, { hookDeadline_ms: 200, hooksDeadline_ms: 350 }).postResume({});
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(results.map((result) => result.ok)).toEqual([false, false, false]);
    expect(results[2]?.reason).toMatch(/not run|within 1?\d\d ms|within \d\d? ms/);
  });
});

describe('hooks that somebody else may have written', () => {
  const told = (directory: string) => JSON.stringify(hooksIn(directory).describe().skipped);

  it.each([
    ['the file', 'post-resume.d/10', 0o757],
    ['the file by its group', 'post-resume.d/10', 0o775],
    ['the directory of the phase', 'post-resume.d', 0o777],
    ['the directory of the hooks', '.', 0o777],
  ])('are not run when others may write to %s, and that is said', async (_name, path, mode) => {
    const { directory, add, lines } = hookDir();
    add('post-resume.d/10', note('10'));
    chmodSync(join(directory, path), mode);
    expect(await hooksIn(directory).postResume({})).toEqual([]);
    expect(lines()).toEqual([]);
    expect(told(directory)).toMatch(/others may write to .*chmod go-w/);
    expect(hooksIn(directory).refusal()).toMatch(/^not run: 10 \(others may write to/);
  });

  it('are not run through a link either, and those beside them are', async () => {
    const { directory, add, lines } = hookDir();
    add('evil', note('evil'), 0o777);
    symlinkSync('../evil', join(directory, 'pre-suspend.d/10-evil'));
    add('pre-suspend.d/20', note('20'));
    await hooksIn(directory).preSuspend({});
    expect(lines()).toEqual(['20 pre-suspend']);
    expect(told(directory)).toMatch(/10-evil/);
  });

  it.skipIf(loudly(process.getuid?.() !== 0, 'not root: files of other users cannot be made'))(
    'are not run when others own them',
    async () => {
      const { directory, add, lines } = hookDir();
      add('post-resume.d/10', note('10'));
      chownSync(join(directory, 'post-resume.d/10'), 4_711, 4_711);
      await hooksIn(directory).postResume({});
      expect(lines()).toEqual([]);
      expect(told(directory)).toMatch(/belongs to user 4711/);
    },
  );
});

it('tells a hook what happens on its stdin and in its environment, and nothing of the agent', async () => {
  const { directory, add, lines } = hookDir();
  process.env.REMORA_CANARY = 'sk-canary';
  onTestFinished(() => {
    delete process.env.REMORA_CANARY;
  });
  add('post-resume.d/10', 'cat >> LOG; env >> LOG');
  await hooksIn(directory).postResume({ cause: 'restore', gap_ms: 12_000 });
  const [stdin = '', ...env] = lines();
  expect(JSON.parse(stdin)).toEqual({ cause: 'restore', gap_ms: 12_000, phase: 'post-resume', generation: 4 });
  expect(env).toContain('REMORA_GENERATION=4');
  expect(env.join('\n')).not.toContain('sk-canary');
});

it('posts the same to a program that listens on a socket in the directory', async () => {
  const { directory } = hookDir();
  const calls: { url: string | undefined; body: unknown }[] = [];
  let status = 204;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      calls.push({ url: request.url, body: JSON.parse(text) });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(join(directory, 'pre-suspend.d', '50-app'), resolve));
  onTestFinished(() => void server.close());
  const hooks = hooksIn(directory);
  await hooks.preSuspend({ forced: false });
  expect(calls).toEqual([{ url: '/pre-suspend', body: { forced: false, phase: 'pre-suspend', generation: 4 } }]);
  status = 503;
  await expect(hooks.preSuspend({})).rejects.toThrow(/50-app.*answered 503/);
});

it('passes over what is not a hook, and says why', () => {
  const { directory, add } = hookDir();
  add('pre-suspend.d/10-ok', '');
  add('pre-suspend.d/20-plain', '', 0o644);
  add('pre-suspend.d/30-open', '', 0o757);
  add('pre-suspend.d/.hidden', '');
  add('pre-suspend.d/40-old~', '');
  mkdirSync(join(directory, 'pre-suspend.d/50-dir'));
  const { hooks, skipped } = listHooks(join(directory, 'pre-suspend.d'));
  expect(hooks.map((hook) => hook.name)).toEqual(['10-ok']);
  expect(skipped.map((entry) => entry.name)).toEqual(['20-plain', '30-open', '50-dir']);
});

it('has none where there is no directory', async () => {
  expect(await hooksIn(join(tempDir(), 'none')).preSuspend({})).toEqual([]);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
