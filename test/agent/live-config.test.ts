import { expect, it } from 'vitest';
import { toPresentVariables } from '../../src/agent/config/environment-file.ts';
import { createLiveConfig } from '../../src/agent/config/live-config.ts';
import { loadConfig } from '../../src/agent/config/load-config.ts';
import { settings } from '../../src/agent/config/settings.ts';

const load = (env: Readonly<Record<string, string>>) => loadConfig({ env, readFile: () => '', exists: () => false });

it('changes what may be changed in place, and names what needs a restart', () => {
  const live = createLiveConfig(load({ REMORA_SOCKET: '/a', REMORA_TOKEN: 'one' }));
  const { config } = live;
  const next = load({
    ...{ REMORA_SOCKET: '/b', REMORA_TOKEN: 'two', REMORA_LOG_LEVEL: 'debug', REMORA_GATEWAY_RATE: '5' },
    ...{ REMORA_PORTS_IGNORE: '22', REMORA_NO_SUCH: 'x' },
  });
  expect(live.take(next)).toEqual({
    changed: ['gateway.rate', 'log_level'],
    kept: ['socket', 'ports.ignore', 'token'],
  });
  expect(config).toMatchObject({ socket: '/a', logLevel: 'debug', callsPerSecond: 5 });
  expect(config.token?.reveal()).toBe('one');
  expect(config.warnings).toMatchObject([{ setting: 'REMORA_NO_SUCH' }]);
  expect(live.take(load({ REMORA_SOCKET: '/a', REMORA_TOKEN: 'one' })).changed).toEqual(['gateway.rate', 'log_level']);
  expect(config).toMatchObject({ logLevel: 'info', callsPerSecond: 1_000, warnings: [] });
});

it('finds no difference between two equal readings', () => {
  const env = { REMORA_PORTS_IGNORE: '22,9000-9010', REMORA_LISTEN: '127.0.0.1:1', REMORA_TOKEN: 'one' };
  expect(createLiveConfig(load(env)).take(load(env))).toEqual({ changed: [], kept: [] });
});

it('changes no setting on which something stands that was opened at the start', () => {
  const opened = ['socket', 'socketMode', 'socketGroup', 'readonlySocket', 'listen', 'socketRoot', 'supervisorSocket'];
  for (const name of [...opened, 'user', 'stateDir', 'baseUrl', 'tokenFile', 'sprite', 'machine'] as const) {
    expect(settings, name).not.toHaveProperty([name, 'isLive']);
  }
});

it.each([
  [{ A: '1' }, {}, { REMORA_X: '2' }, { A: '1', REMORA_X: '2' }],
  [{ A: '1', REMORA_X: '1' }, { REMORA_X: '1' }, {}, { A: '1' }],
  [{ REMORA_X: 'unit' }, {}, { REMORA_X: 'file' }, { REMORA_X: 'file' }],
  [{ REMORA_X: 'unit', REMORA_Y: '1' }, { REMORA_Y: '1' }, { REMORA_Z: '1' }, { REMORA_X: 'unit', REMORA_Z: '1' }],
])('of %j, with %j in the file at the start and %j now, makes %j', (env, before, now, expected) => {
  expect(toPresentVariables(env, before, now)).toEqual(expected);
});
