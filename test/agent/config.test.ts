import { describe, expect, it } from 'vitest';
import { ConfigError, type ConfigSources, loadConfig } from '../../src/agent/config/load-config.ts';

function load(parts: Partial<ConfigSources> = {}) {
  const sources = { env: {}, readFile: () => '', exists: () => false, ...parts };
  return loadConfig(sources);
}

describe('where a setting comes from', () => {
  it('takes defaults when nothing is said', () => {
    const config = load();
    expect(config).toMatchObject({
      socket: '/run/remora/remora.sock',
      socketMode: 0o660,
      stateDir: '/var/lib/remora',
      policyMaxAge_ms: 600_000,
      logLevel: 'info',
      warnings: [],
    });
    expect(config.nodeUrl).toBeUndefined();
  });

  it('lets a flag win over the environment, the environment over the file', () => {
    const file = { socket: '/f', state_dir: '/f', node_url: 'http://f' };
    const env = { REMORA_SOCKET: '/e', REMORA_STATE_DIR: '/e' };
    const config = load({ file, env, flags: { socket: '/flag' } });
    expect([config.socket, config.stateDir, config.nodeUrl]).toEqual(['/flag', '/e', 'http://f']);
  });

  it('reads tables of the file by dotted key', () => {
    expect(load({ file: { gateway: { policy_max_age: '5s' } } }).policyMaxAge_ms).toBe(5_000);
  });

  it('borrows the identity of the machine, and never over its own setting', () => {
    const env = { FLY_APP_NAME: 'a', FLY_MACHINE_ID: 'm', REMORA_MACHINE: 'mine' };
    expect(load({ env })).toMatchObject({ app: 'a', machine: 'mine' });
  });

  it('falls back to the machines API socket only where it exists', () => {
    expect(load().machinesApi).toBeUndefined();
    expect(load({ exists: (path) => path === '/.fly/api' }).machinesApi).toEqual({ socketPath: '/.fly/api' });
    const set = load({ exists: () => true, env: { REMORA_MACHINES_API: 'https://api.test/' } });
    expect(set.machinesApi).toEqual({ origin: 'https://api.test' });
  });
});

describe('bad settings', () => {
  it('reports every problem at once, by the name under which it was given', () => {
    const env = { REMORA_SOCKET: 'relative', REMORA_NODE_URL: 'ftp://x', REMORA_SOCKET_MODE: '999' };
    let thrown: unknown;
    try {
      load({ env, file: { log_level: 'loud' }, flags: { listen: '127.0.0.1' } });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    const { problems } = thrown as ConfigError;
    expect(problems).toHaveLength(5);
    for (const name of ['REMORA_SOCKET:', 'REMORA_NODE_URL:', 'REMORA_SOCKET_MODE:', 'log_level', '--listen']) {
      expect(problems.some((problem) => problem.startsWith(name))).toBe(true);
    }
  });

  it('refuses a credential inside a URL without repeating it', () => {
    expect(() => load({ env: { REMORA_BASE_URL: 'https://user:hunter2@api.test' } })).toThrow(/credential/);
    try {
      load({ env: { REMORA_BASE_URL: 'https://user:hunter2@api.test' } });
    } catch (error) {
      expect(String(error)).not.toContain('hunter2');
    }
  });

  it('starts without what is unknown and says so', () => {
    const config = load({ env: { REMORA_SOKET: '/x' }, file: { gateway: { speed: 1 } } });
    expect(config.warnings.map((warning) => warning.setting)).toEqual(['gateway.speed', 'REMORA_SOKET']);
  });
});

describe('the token', () => {
  const sources: [string, Partial<ConfigSources>][] = [
    ['the variable', { env: { REMORA_TOKEN: ' t0 \n' } }],
    ['a file', { env: { REMORA_TOKEN_FILE: '/t' }, readFile: () => 't0\n' }],
    [
      'a systemd credential',
      {
        env: { CREDENTIALS_DIRECTORY: '/c' },
        exists: (path: string) => path === '/c/remora-token',
        readFile: () => 't0',
      },
    ],
  ];
  it.each(sources)('comes from %s', (_where, parts) => {
    const config = load(parts);
    expect(config.token?.reveal()).toBe('t0');
    expect(JSON.stringify(config)).not.toContain('t0');
  });

  it('is not read from the config file, and never repeated', () => {
    const config = load({ file: { token: 'sk-canary' } });
    expect(config.token).toBeUndefined();
    expect(config.warnings).toHaveLength(1);
    expect(JSON.stringify(config)).not.toContain('sk-canary');
  });

  it('is warned of where it would cross a network in the clear', () => {
    const warned = (url: string) =>
      load({ env: { REMORA_TOKEN: 't0', REMORA_MACHINES_API: url } }).warnings.map((warning) => warning.setting);
    expect(warned('http://api.test')).toEqual(['machines_api']);
    expect(warned('https://api.test')).toEqual([]);
    expect(warned('http://127.0.0.1:4280')).toEqual([]);
    expect(warned('unix:/.fly/api')).toEqual([]);
    const onLink = { REMORA_TOKEN: 't0', REMORA_PLAIN_HTTP_HOSTS: '10.77.0.1, gateway.link' };
    const other = { ...onLink, REMORA_BASE_URL: 'http://10.77.0.1:4180', REMORA_MACHINES_API: 'http://10.77.0.10' };
    expect(load({ env: other }).warnings.map(({ setting }) => setting)).toEqual(['machines_api']);
    const overIpv6 = { ...onLink, REMORA_PLAIN_HTTP_HOSTS: 'fd00::1', REMORA_BASE_URL: 'http://[fd00::1]:4180' };
    expect(load({ env: overIpv6 }).warnings).toEqual([]);
    expect(() => load({ env: { REMORA_PLAIN_HTTP_HOSTS: 'http://a/' } })).toThrow(
      'must be names or addresses of hosts',
    );
  });

  const unreadable: [string, () => string, RegExp][] = [
    [
      'missing',
      () => {
        throw new Error('ENOENT');
      },
      /cannot be read: ENOENT/,
    ],
    ['empty', () => ' \n', /is empty/],
    ['of two lines', () => 'a\nb', /characters/],
  ];
  it.each(unreadable)('is absent with a warning when its file is %s', (_case, readFile, message) => {
    const config = load({ env: { REMORA_TOKEN_FILE: '/t' }, readFile });
    expect(config.token).toBeUndefined();
    expect(config.warnings[0]?.message).toMatch(message);
  });
});
