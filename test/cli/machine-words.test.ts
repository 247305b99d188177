// The commands that make, change and delete machines, with a token over HTTP and at the socket of the operator.
import { describe, expect, it } from 'vitest';
import { machineCommand, openTestPlatform, type TestPlatform } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';

const doors = [
  [
    'with a token elsewhere',
    (platform: TestPlatform) => {
      const env = { REMORA_URL: platform.url, REMORA_API_TOKEN: platform.token.reveal() };
      return (...words: string[]) => runHere(words, env);
    },
  ],
  [
    "at the platform's own socket",
    (platform: TestPlatform) =>
      (...words: string[]) =>
        runHere([...words, '--dir', platform.dir]),
  ],
] as const;

describe.each(doors)('%s', (_door, open) => {
  it('a machine is made, updated, leased, cordoned, restarted and deleted', async () => {
    const platform = await openTestPlatform({ agentCommand: machineCommand() });
    const run = open(platform);
    const made = await run('machine', 'create', '{"env":{"A":"1"}}', '--name', 'web', '--skip-launch');
    expect(made).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^[0-9a-f]{14} +web +created$/) });
    expect(await run('machine', 'create', '{"nonsense":1}')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nonsense'),
    });
    expect(await run('machine', 'create', '--image', 'debian')).toMatchObject({
      code: 1,
      err: expect.stringContaining('unsupported_by_driver'),
    });
    expect((await run('machine', 'start', 'web')).out).toContain('runs; it was created');
    expect((await run('machine', 'update', 'web', '--memory', '512')).out).toMatch(/^web \(.*\) has the version \w+/);
    const shown = JSON.parse((await run('machine', 'show', 'web', '--json')).out);
    expect(shown).toMatchObject({ config: { env: { A: '1' }, guest: { memory_mb: 512 } } });
    expect((await run('machine', 'restart', 'web')).out).toContain('was restarted');
    expect((await run('machine', 'cordon', 'web')).code).toBe(0);
    expect(JSON.parse((await run('machine', 'show', 'web', '--json')).out)).toMatchObject({ cordoned: true });
    expect((await run('machine', 'uncordon', 'web')).code).toBe(0);
    const nonce = (await run('machine', 'lease', 'web', '--ttl', '30')).out;
    expect(await run('machine', 'stop', 'web')).toMatchObject({ code: 1, err: expect.stringContaining('conflict') });
    expect((await run('machine', 'lease', 'web', '--release', nonce)).code).toBe(0);
    expect(await run('machine', 'destroy', 'web')).toMatchObject({
      code: 1,
      err: expect.stringContaining('force=true'),
    });
    expect((await run('machine', 'destroy', 'web', '--force')).out).toMatch(/is deleted$/);
    expect((await run('machine', 'list', '--json')).out).toBe('[]');
  });
});
