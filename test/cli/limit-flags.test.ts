import { expect, it } from 'vitest';
import { readLimitFlags } from '../../src/cli/platform/limit-flags.ts';

const read = (given: Readonly<Record<string, string>>) => readLimitFlags((name) => given[name]);

it('takes what is given, and leaves the rest as the platform has it', () => {
  expect(read({})).toEqual({
    gatewayLimits: {
      connector: { perSecond: 2_000, inFlight: 1_024 },
      sprite: { perSecond: 1_000, inFlight: 512 },
    },
  });
  const given = {
    'connector-rate': '7',
    'sprite-in-flight': '3',
    'token-rate': '2',
    'creation-limit': '0',
    'websocket-idle': '0s',
  };
  expect(read(given)).toEqual({
    gatewayLimits: { connector: { perSecond: 7, inFlight: 1_024 }, sprite: { perSecond: 1_000, inFlight: 3 } },
    callRate: { perSecond: 2, burst: 10 },
    creationLimit: 0,
    websocketIdle_ms: 0,
  });
  expect(read({ 'body-limit': '1073741824' }).gatewayLimits).toMatchObject({ bodyCap_bytes: 1_073_741_824 });
});

it.each([
  ['connector-rate', '0'],
  ['connector-in-flight', 'many'],
  ['sprite-rate', '-1'],
  ['sprite-in-flight', '1.5'],
  ['token-rate', '1000001'],
  ['creation-limit', '-1'],
  ['body-limit', '1g'],
  ['body-limit', '0'],
  ['websocket-idle', '25h'],
  ['websocket-idle', 'long'],
])('--%s %s is a usage error that names the flag', (flag, value) => {
  expect(() => read({ [flag]: value })).toThrow(`--${flag} takes`);
});
