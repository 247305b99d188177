import { spawnSync } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createStaleSockets } from '../../../src/agent/resume/stale-connections.ts';
import type { StaleChoice } from '../../../src/core/connections/select-stale.ts';
import { readConnectionTable } from '../../../src/linux/sockets/connection-table.ts';
import { createSs } from '../../../src/linux/sockets/ss.ts';
import { startListenerProcess } from '../../support/listener-process.ts';
import { loudly } from '../../support/loudly.ts';
import { startTalkerProcess, type TalkerProcess } from '../../support/talker-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const DEADLINE_MS = 60_000;

function setUp(choice: Partial<StaleChoice>, ss = createSs(), procRoot = '/proc') {
  const events: [string, unknown][] = [];
  const stale = createStaleSockets({
    choice: { ports: [], cgroups: [], ...choice },
    hub: {
      publish(type, fields) {
        events.push([type, fields ?? {}]);
        return { seq: 1, time: '', generation: 1, type };
      },
    },
    ss,
    procRoot,
  });
  const run = async () => {
    for (const step of stale.steps) await step.run(AbortSignal.timeout(DEADLINE_MS));
  };
  return { stale, events, run };
}

/** Whether `ss -K` works here at all, asked without the code under test. */
async function mayKill(): Promise<boolean> {
  const listener = await startListenerProcess();
  const talker = await startTalkerProcess();
  const port = await listener.listen();
  await talker.connect(port);
  const words = ['-K', '-tnH', 'state', 'established', 'dst', `127.0.0.1:${port}`];
  return spawnSync('ss', words, { encoding: 'utf8' }).stdout?.includes(`:${port}`) ?? false;
}

/** Skips loudly where the kernel, `ss` or the user cannot end connections. */
function whereItWorks(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    const missing = !(await mayKill());
    context.skip(loudly(missing, `\`ss -K\` does not work here: not tried that ${name}`));
    await body();
  });
}

/** A cgroup of its own for the talker, or undefined where none can be made. */
function moveToCgroup({ pid }: TalkerProcess): string | undefined {
  for (const root of ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']) {
    const name = `/remora-test-${pid}`;
    try {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'cgroup.procs'), String(pid));
      onTestFinished(() => {
        writeFileSync(join(root, 'cgroup.procs'), String(pid));
        rmdirSync(join(root, name));
      });
      return name;
    } catch {
      // Not a cgroup tree of version 2, or not ours to change.
    }
  }
  return undefined;
}

describe('after a resume', () => {
  whereItWorks('older connections of a chosen port are ended, others and newer ones are not', async () => {
    const listener = await startListenerProcess();
    const talker = await startTalkerProcess();
    const [chosen, other] = [await listener.listen(), await listener.listen()];
    const old = await talker.connect(chosen);
    const ofOtherPort = await talker.connect(other);
    const { stale, events, run } = setUp({ ports: [chosen] });
    stale.onResumed();
    const newer = await talker.connect(chosen);
    await run();
    expect(await talker.ended(old)).toMatch(/ECONNABORTED|ECONNRESET/);
    await talker.send(ofOtherPort, 1);
    await talker.send(newer, 1);
    expect([ofOtherPort, newer].map(talker.isEnded)).toEqual([false, false]);
    const named = expect.arrayContaining([expect.stringContaining(`127.0.0.1:${chosen}`)]);
    expect(events).toEqual([['stale_sockets_ended', { count: expect.any(Number), connections: named }]]);
  });

  whereItWorks('connections over IPv6 are ended as well, dual-stack ones too', async () => {
    const listener = await startListenerProcess();
    const talker = await startTalkerProcess();
    const port = await listener.listen({ host: '::' });
    const old = [await talker.connect(port, '::1'), await talker.connect(port, '127.0.0.1')];
    const { stale, run } = setUp({ ports: [port] });
    stale.onResumed();
    await run();
    expect(await Promise.all(old.map(talker.ended))).toEqual([expect.any(String), expect.any(String)]);
  });

  whereItWorks('connections of a chosen cgroup are ended, others are not', async () => {
    const listener = await startListenerProcess();
    const [inside, outside] = [await startTalkerProcess(), await startTalkerProcess()];
    const cgroup = moveToCgroup(inside);
    if (loudly(cgroup === undefined, 'no cgroup can be made here: ending by cgroup is not tried')) return;
    const port = await listener.listen();
    const [old, others] = [await inside.connect(port), await outside.connect(port)];
    const { stale, run } = setUp({ cgroups: [cgroup ?? ''] });
    stale.onResumed();
    await run();
    expect(await inside.ended(old)).toMatch(/ECONN/);
    await outside.send(others, 1);
    expect(outside.isEnded(others)).toBe(false);
  });
});

describe('where it cannot be done', () => {
  it.each([
    ['`ss` is missing', '/nonexistent/ss', '/proc', /`ss` is not installed/],
    ['this process may not', 'denied', '/proc', /Operation not permitted; CAP_NET_ADMIN is needed/],
    ['the kernel was built without it', 'unable', '/proc', /1 of 1 are still there; the kernel may be built without/],
    ['the connections cannot be read', 'unable', '/nonexistent', /connections older than the resume are not known/],
  ])('the step says why: %s', async (_case, kind, procRoot, reason) => {
    const listener = await startListenerProcess();
    const talker = await startTalkerProcess();
    const port = await listener.listen({ host: '127.0.0.1' });
    const id = await talker.connect(port);
    const command = kind.startsWith('/') ? kind : playSs(kind, port);
    const { stale, run, events } = setUp({ ports: [port] }, createSs({ command }), procRoot);
    stale.onResumed();
    await expect(run()).rejects.toThrow(reason);
    await talker.send(id, 1);
    expect([talker.isEnded(id), events]).toEqual([false, []]);
  });

  it('there is no step when nothing was chosen', () => {
    const { stale } = setUp({}, createSs({ command: '/nonexistent/ss' }), '/nonexistent');
    stale.onResumed();
    expect(stale.steps).toEqual([]);
  });
});

/** A program that answers like `ss` on a machine that lists connections and cannot end them. */
function playSs(kind: string, port: number): string {
  const found = readConnectionTable().find(({ peer_port }) => peer_port === port);
  const line = `0 0 ${found?.local}:${found?.local_port} ${found?.peer}:${port} ino:${found?.inode} sk:1 <->`;
  const kill = kind === 'denied' ? 'echo "SOCK_DESTROY answers: Operation not permitted" >&2; exit 1' : 'exit 0';
  const path = join(tempDir(), 'ss');
  writeFileSync(path, `#!/bin/sh\ncase "$1" in -K) ${kill};; esac\necho '${line}'\n`, { mode: 0o755 });
  return path;
}
