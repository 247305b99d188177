// Every operation inside a sprite, interrupted in its middle: by the end of the platform, and by a suspend of the machine. The caller
// hears of it, the machine goes on as documented, and the same operation succeeds afterwards.
import { describe, expect, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { machineSuspend, platformKill } from '../support/interrupted/faults.ts';
import { append, copy, list, read, remove, watch, write } from '../support/interrupted/file-operations.ts';
import { interruptAll } from '../support/interrupted/interrupt-all.ts';
import { attach, control, exec, execOverHttp } from '../support/interrupted/process-operations.ts';
import { logs, proxy, start, stop } from '../support/interrupted/service-operations.ts';
import { openKillablePlatform } from '../support/killable-platform.ts';

/** The last ones end by themselves. */
const operations = [
  exec,
  execOverHttp,
  control,
  attach,
  read,
  write,
  append,
  list,
  watch,
  start,
  logs,
  proxy,
  stop,
  copy,
  remove,
];

/** Far more than it takes: several thousand files are made, and others may use the machine. */
const LIMIT_MS = 240_000;

describe.each([platformKill, machineSuspend])('$fault in the middle of', ({ toInterruption, ending: expected }) => {
  const opened = openOnce(async () => {
    const platform = await openKillablePlatform();
    // The supervisor starts at the first call.
    const before = await eventually(async () => {
      await platform.call({ path: '/v1/sprites/dev-1/services' });
      const pids = platform.daemons();
      return pids.length === 2 && pids;
    }, 60_000);
    const outcomes = await interruptAll(platform, operations, toInterruption(platform));
    return { outcomes, before, after: platform.daemons() };
  }, LIMIT_MS);

  test.each(operations)('$name', ({ name, mayBeOver }) => {
    const { ending = '', left, again } = opened().outcomes.get(name) ?? {};
    expect(left).toBeUndefined();
    expect(again).toBeUndefined();
    if (mayBeOver !== true || ending !== 'whole') expect(ending).toMatch(expected);
  });

  test('everything, and agent and supervisor are the same processes', () => {
    const { before, after } = opened();
    expect(after).toEqual(before);
  });
});
