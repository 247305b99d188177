// `remora host …` at the platform's own socket: what the list says of a host and its memory, and a drain with its end.
import { expect, test } from 'vitest';
import { parseResident_bytes, sumResidentMemory_mb } from '../../src/linux/processes/resident-memory.ts';
import { machineOf } from '../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';

test('a host is listed, drained and opened again', async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), hostAddress: 'http://127.0.0.1:9' });
  const run = (...words: string[]) => runHere(['host', ...words, '--dir', platform.dir]);
  const list = async () => JSON.parse((await run('list', '--json')).out).hosts;
  expect(await list()).toMatchObject([{ host: 'local', reserved_mb: 0, resident_mb: 0, total_mb: null }]);
  const machine = await machineOf(platform, 'web');
  await machine.post('start');
  const [host, ...others] = await list();
  expect(others).toEqual([]);
  expect(host).toMatchObject({ machines: 1, address: 'http://127.0.0.1:9', version: '0.0.0', reserved_mb: 256 });
  // What it runs is Node, which is far above 10 MB anywhere.
  expect(host.resident_mb).toBeGreaterThan(10);
  expect(host.boot_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(Date.now() - Date.parse(host.seen_at)).toBeLessThan(120_000);
  expect((await run('list')).out).toMatch(/^HOST .* RESERVED +RESIDENT .*\nlocal +1 +256 MB +\d+ MB +- /);

  expect(await run('drain', '--host', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('not_found') });
  expect(await run('drain')).toMatchObject({ code: 0, out: expect.stringContaining('`host undrain` opens it again') });
  expect(await machine.read()).toMatchObject({ state: 'stopped' });
  expect((await machine.post('start')).json).toMatchObject({ error: 'host_drained' });
  expect(await list()).toMatchObject([{ drained_at: expect.any(String), reserved_mb: 0, resident_mb: 0 }]);
  expect(await run('undrain')).toMatchObject({ code: 0 });
  expect(await machine.wait('state=running')).toBe(200);
  expect((await list())[0].drained_at).toBeUndefined();
});

test('the resident memory of processes is read from the kernel, and what has ended has none', async () => {
  expect(parseResident_bytes('Name:\tnode\nVmPeak:\t  900 kB\nVmRSS:\t   2048 kB\n')).toBe(2_097_152);
  expect(parseResident_bytes('Name:\tnode\nState:\tZ (zombie)\n')).toBe(0);
  expect(await sumResidentMemory_mb([process.pid])).toBeGreaterThan(10);
  expect(await sumResidentMemory_mb([2 ** 22 + 1])).toBe(0);
});
