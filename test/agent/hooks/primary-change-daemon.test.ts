// The hooks on a change of the primary, through the whole daemon: a node that says who the primary is, programs in primary-change.d,
// one of which fails and one of which hangs.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAgent } from '../../support/agent-process.ts';
import { eventually } from '../../support/eventually.ts';
import { readLines } from '../../support/read-lines.ts';
import { startNode } from '../../support/scripted-node.ts';
import { tempDir } from '../../support/temp-dir.ts';

const TOKEN = 'sk-canary-of-the-agent';

function openHooks() {
  const dir = tempDir();
  mkdirSync(join(dir, 'primary-change.d'));
  const told = join(dir, 'told');
  return {
    dir,
    /** `$TOLD` is the file in which they write down that they ran. */
    put(name: string, script: string, mode = 0o755) {
      const path = join(dir, 'primary-change.d', name);
      writeFileSync(path, `#!/bin/sh\nTOLD='${told}'\nNAME=$(basename "$0")\n${script}\n`);
      chmodSync(path, mode);
    },
    /** Name and context of each run, in order. */
    told(): (readonly [name: string, context: unknown])[] {
      // The last one may be half written.
      const lines = existsSync(told) ? readFileSync(told, 'utf8').split('\n').slice(0, -1) : [];
      return lines.map((line) => {
        const [name = '', json = ''] = line.split('\t');
        return [name, JSON.parse(json)];
      });
    },
    read: (name: string) => readFileSync(`${told}.${name}`, 'utf8'),
    has: (name: string) => existsSync(`${told}.${name}`),
  };
}

const WRITE = 'printf "%s\\t%s\\n" "$NAME" "$(cat)" >> "$TOLD"';

/** Neither gone nor a zombie, which has no command line any more. */
function isRunning(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

test('each change of the primary runs the hooks in order, whatever one of them does', async () => {
  const hooks = openHooks();
  hooks.put(
    '10-first',
    `${WRITE}; cat /proc/$$/environ > "$TOLD.environ"; pwd > "$TOLD.pwd"; echo "$@" > "$TOLD.words"`,
  );
  hooks.put('20-fails', `${WRITE}; echo 'no such table' >&2; exit 3`);
  hooks.put('30-hangs', `${WRITE}; trap '' TERM; sleep 600 & echo $! > "$TOLD.pid"; wait; wait`);
  hooks.put('40-last', WRITE);
  hooks.put('50-notes', WRITE, 0o644);
  const node = await startNode();
  const agent = await startAgent({ REMORA_NODE_URL: node.url, REMORA_HOOKS_DIR: hooks.dir, REMORA_TOKEN: TOKEN });
  const events = await readLines('/v1/events?types=primary_changed', agent.socket);
  await events.next();
  const part = async () => (await agent.get('/v1/ready')).json;
  const connection = await node.next();
  connection.open({ type: 'init', data: { isPrimary: true } });

  expect(await events.next()).toMatchObject({ primary: 'self', previous: { primary: 'unknown' } });
  await eventually(() => hooks.has('pid') && hooks.read('pid') !== '');
  const pid = hooks.read('pid').trim();
  expect(isRunning(pid)).toBe(true);
  const environment = Object.fromEntries(
    hooks
      .read('environ')
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
  expect(environment).toEqual({
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    REMORA_HOOK: 'primary-change',
    REMORA_GENERATION: '0',
  });
  expect(hooks.read('pwd')).toBe('/\n');
  expect(hooks.read('words')).toBe('primary-change\n');
  // While one hangs the daemon serves, and only the newest of what comes meanwhile waits.
  connection.send({ type: 'primaryChange', data: { isPrimary: false, hostname: 'b:20202' } });
  const replication = async () => (await agent.get('/v1/replication')).json;
  await expect.poll(replication).toMatchObject({ primary: 'remote', hostname: 'b:20202' });
  const self = { phase: 'primary-change', generation: 0, primary: 'self', previous: { primary: 'unknown' } };
  await eventually(() => hooks.told().length >= 4);
  expect(hooks.told().slice(0, 4)).toEqual(['10-first', '20-fails', '30-hangs', '40-last'].map((name) => [name, self]));
  await expect.poll(part).toMatchObject({
    parts: {
      hooks: {
        state: 'degraded',
        reason:
          'after a change of the primary 20-fails: exit code 3: no such table; ' +
          '30-hangs: did not end within 5000 ms and was killed',
      },
      replication: { state: 'ok' },
    },
  });
  await eventually(() => !isRunning(pid));

  expect((await agent.get('/v1/status')).json).toMatchObject({
    details: { hooks: { primary_change: ['10-first', '20-fails', '30-hangs', '40-last'] } },
  });
  expect(JSON.stringify((await agent.get('/v1/status')).json)).toContain('50-notes');
  expect(agent.log()).not.toContain(TOKEN);

  hooks.put('20-fails', WRITE);
  hooks.put('30-hangs', WRITE);
  connection.send({ type: 'primaryChange', data: { isPrimary: false, hostname: 'c:20202' } });
  const remote = { primary: 'remote', hostname: 'c:20202' };
  await expect.poll(() => hooks.told().at(-1)).toMatchObject(['40-last', remote]);
  await expect.poll(part).toMatchObject({ parts: { hooks: { state: 'ok' } } });
});
