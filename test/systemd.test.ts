import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loudly } from './support/loudly.ts';
import { remoraPath } from './support/run-remora.ts';
import { tempDir } from './support/temp-dir.ts';

const top = new URL('../', import.meta.url).pathname;
const units = join(top, 'systemd');
const names = readdirSync(units).filter((name) => /\.(?:service|socket|path)$/.test(name));
const analyze = spawnSync('systemd-analyze', ['--version']).status === 0;

/** The units with their program replaced by one that exists here. */
function copyUnits(): string[] {
  const dir = tempDir();
  cpSync(units, dir, { recursive: true });
  for (const name of [
    'remora.service',
    'remora-supervisor.service',
    'remora-network.service',
    'remora-platform.service',
  ]) {
    const path = join(dir, name);
    const text = readFileSync(path, 'utf8');
    const replaced = text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
    expect(replaced).not.toBe(text);
    writeFileSync(path, replaced);
  }
  return names.map((name) => join(dir, name));
}

describe('the units', () => {
  it.skipIf(loudly(!analyze, 'systemd-analyze is missing: the units are not verified'))(
    'hold before systemd itself',
    () => {
      const run = spawnSync('systemd-analyze', ['verify', '--man=no', ...copyUnits()], { encoding: 'utf8' });
      expect(`${run.stdout}${run.stderr}`).toBe('');
      expect(run.status).toBe(0);
    },
  );

  it.skipIf(loudly(!analyze, 'systemd-analyze is missing: the check itself is not checked'))(
    'would not hold with a mistake',
    () => {
      const paths = copyUnits();
      const service = paths.find((path) => path.endsWith('.service')) ?? '';
      writeFileSync(service, `${readFileSync(service, 'utf8')}\n[Service]\nRestrat=always\n`);
      const run = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], { encoding: 'utf8' });
      expect(run.stderr).toMatch(/Restrat/);
    },
  );

  // What systemd itself counts against a unit, from 0 to 100. Lower it with each setting that narrows a unit.
  it.skipIf(loudly(!analyze, 'systemd-analyze is missing: the exposure of the units is not rated')).each([
    ['remora.service', 25],
    ['remora-platform.service', 15],
    ['remora-reseed.service', 17],
    ['remora-network.service', 24],
  ])('expose no more than they need: %s at most %i', (name, limit) => {
    const rate = (most: number) =>
      spawnSync('systemd-analyze', ['security', '--offline=yes', `--threshold=${most}`, join(units, name)]).status;
    expect(rate(limit)).toBe(0);
    expect(rate(limit - 1)).not.toBe(0);
  });

  it('start the platform with the flags of its users, its keys from systemd, and machines that outlive it', () => {
    const service = readFileSync(join(units, 'remora-platform.service'), 'utf8');
    expect(service).toMatch(
      /^ExecStart=\/opt\/remora\/node_modules\/.bin\/node .*remora.cjs platform \$REMORA_PLATFORM_FLAGS$/m,
    );
    for (const name of ['KillMode=process', 'Delegate=yes', 'User=remora-platform', 'CapabilityBoundingSet=']) {
      expect(service.split('\n')).toContain(name);
    }
    const keys = readFileSync(new URL('../src/cli/platform/platform-keys.ts', import.meta.url), 'utf8');
    expect(keys).toContain("'remora-platform-key'");
    expect(service).toMatch(/^LoadCredential=remora-platform-key$/m);
    const url = readFileSync(new URL('../src/cli/platform/database-url.ts', import.meta.url), 'utf8');
    expect(url).toContain("'remora-database-url'");
    expect(service).toMatch(/^LoadCredential=remora-database-url$/m);
  });

  it('agree with what the agent looks for', () => {
    const service = readFileSync(join(units, 'remora.service'), 'utf8');
    expect(service).toMatch(/^Type=notify$/m);
    expect(service).toMatch(/^NotifyAccess=main$/m);
    expect(service).toMatch(/^Restart=always$/m);
    expect(service).toMatch(/^LoadCredential=remora-token$/m);
    const loader = readFileSync(new URL('../src/agent/config/load-config.ts', import.meta.url), 'utf8');
    expect(loader).toContain("'remora-token'");
    const listeners = readFileSync(new URL('../src/agent/listeners.ts', import.meta.url), 'utf8');
    const readonly = readFileSync(join(units, 'remora-readonly.socket'), 'utf8');
    expect(listeners).toContain("'readonly'");
    expect(readonly).toMatch(/^FileDescriptorName=readonly$/m);
    const socket = readFileSync(join(units, 'remora.socket'), 'utf8');
    expect(socket).toMatch(/^SocketMode=0660$/m);
    expect(socket).toMatch(/^SocketGroup=remora$/m);
    expect(socket).toMatch(/^ListenStream=\/run\/remora\/remora\.sock$/m);
  });

  it('give the supervisor its socket where the agent looks for it, for root alone, and its own groups', () => {
    const socket = readFileSync(join(units, 'remora-supervisor.socket'), 'utf8');
    expect(socket).toMatch(/^ListenStream=\/run\/remora\/supervisor\.sock$/m);
    expect(socket).toMatch(/^SocketMode=0600$/m);
    const service = readFileSync(join(units, 'remora-supervisor.service'), 'utf8');
    expect(service).toMatch(/^Delegate=yes$/m);
    expect(service).toMatch(/^KillMode=mixed$/m);
    const settings = service.match(/^[A-Z]\w*(?==)/gm);
    for (const name of settings ?? [])
      expect(name).not.toMatch(/^(?:Protect|Private|Restrict|NoNew|Capability|SystemCall)/);
  });

  it('give what enforces the network policy its socket where the agent looks for it, a user of its own and five rights', () => {
    const socket = readFileSync(join(units, 'remora-network.socket'), 'utf8');
    expect(socket).toMatch(/^ListenStream=\/run\/remora\/network\/network\.sock$/m);
    expect(socket).toMatch(/^SocketMode=0600$/m);
    const service = readFileSync(join(units, 'remora-network.service'), 'utf8').split('\n');
    const rights = 'CAP_NET_ADMIN CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_BPF CAP_PERFMON';
    for (const line of ['User=remora-network', `AmbientCapabilities=${rights}`, `CapabilityBoundingSet=${rights}`]) {
      expect(service).toContain(line);
    }
    expect(service).toContain('Environment=REMORA_NETWORK_STATE_DIR=/var/lib/remora-network');
    expect(service.find((line) => line.startsWith('ExecStart='))).toMatch(/ \/opt\/remora\/dist\/remora\.cjs network$/);
  });

  it('reseed what the agent tells them to, with one right', () => {
    const path = readFileSync(join(units, 'remora-reseed.path'), 'utf8');
    const service = readFileSync(join(units, 'remora-reseed.service'), 'utf8');
    expect(path).toMatch(/^PathChanged=\/run\/remora\/generation$/m);
    expect(path).toMatch(/^Unit=remora-reseed\.service$/m);
    expect(service).toMatch(/^CapabilityBoundingSet=CAP_SYS_ADMIN$/m);
    const [, script = ''] = /^ExecStart=\/usr\/bin\/perl \/opt\/remora\/(\S+) \/run\/remora$/m.exec(service) ?? [];
    expect(existsSync(new URL(`../${script}`, import.meta.url))).toBe(true);
  });

  it.skipIf(process.env.REMORA_TEST_PROGRAM === undefined)('start a program that the package has', () => {
    const service = readFileSync(join(units, 'remora.service'), 'utf8');
    const [, runtime, script] = /^ExecStart=\/opt\/remora\/(\S+) .*\/opt\/remora\/(\S+) agent$/m.exec(service) ?? [];
    expect(join(basename(dirname(remoraPath)), basename(remoraPath))).toBe(script);
    const flags = /^ExecStart=\S+ (.*) \/opt/m.exec(service)?.[1]?.split(' ') ?? [];
    const version = execFileSync(join(top, runtime ?? ''), [...flags, remoraPath, '--version'], { encoding: 'utf8' });
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
