// What enforces a network policy is killed: its agent starts it again, though not at once after a start.
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { enforcersOf, openAgentWorld } from '../support/network-agent-world.ts';
import { isWithoutNetworks } from '../support/network-world.ts';
import { signalRunning } from '../support/signal-running.ts';

test.skipIf(isWithoutNetworks())(
  'names are resolved again when what enforces the policy was killed',
  async () => {
    const { world, start, overChannel } = await openAgentWorld();
    const curl = (url: string) => world.run(['curl', '-sS', '-m', '5', '-o', '/dev/null', url]).status;
    await start();
    const rules = [{ action: 'allow', domain: 'a.example' }];
    expect(await overChannel('PUT', '/v1/policy/network', { rules })).toMatchObject({ status: 200 });
    const [first = 0] = enforcersOf(world);
    signalRunning(first, 'SIGKILL');
    expect(curl('http://93.184.0.2/')).not.toBe(0);
    await eventually(() => curl('http://a.example/') === 0, 40_000);
    expect(enforcersOf(world)).not.toContain(first);
    expect(curl('http://b.example/')).not.toBe(0);
  },
  90_000,
);
