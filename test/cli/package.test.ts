// What the Debian package is made of: texts that come from the tables of the product, and that agree with its units and its programs.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/agent/config/load-config.ts';
import { settings } from '../../src/agent/config/settings.ts';
import { commands } from '../../src/cli/commands.ts';
import { toCommandManual, toSettingManual } from '../../src/cli/docs/manual-pages.ts';
import { architectures, isArchitecture, toOwnArchitecture } from '../../src/cli/package/architecture.ts';
import { toControl, toDebianVersion, toFileName } from '../../src/cli/package/deb/control.ts';
import { toDefaultSettings } from '../../src/cli/package/deb/default-settings.ts';
import { maintainerScripts } from '../../src/cli/package/deb/maintainer-scripts.ts';
import { innerUnits, offeredUnits, startedUnits } from '../../src/cli/package/deb/unit-names.ts';
import { makeInstallTree } from '../../src/cli/package/install-tree.ts';
import { checkNativeFiles, findNativeFiles } from '../../src/cli/package/native-files.ts';
import { toNativeParts } from '../../src/cli/package/native-parts.ts';
import { toLicenses } from '../../src/cli/package/to-licenses.ts';
import { loudly } from '../support/loudly.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const root = new URL('../../', import.meta.url).pathname;
const units = join(root, 'systemd');
const product: { dependencies: Record<string, string> } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const all = [...startedUnits, ...offeredUnits, ...innerUnits];
const control = toControl({ version: '1.2.3', architecture: 'amd64', description: 'An agent', size_bytes: 2_049 });

describe('the control file', () => {
  it('has the fields of a package', () => {
    const fields = new Map(control.split('\n').map((line) => line.split(': ') as [string, string]));
    expect(fields.get('Version')).toBe('1.2.3');
    expect(fields.get('Installed-Size')).toBe('3');
    expect(toFileName({ version: '1.2.3', architecture: 'arm64' })).toBe('remora_1.2.3_arm64.deb');
  });

  it('has what leads to a version before it', () => {
    expect(toDebianVersion('1.2.3-rc.1')).toBe('1.2.3~rc.1');
    for (const bad of ['1.2', '1.2.3 ', '1.2.3\nDepends: evil', ''])
      expect(() => toDebianVersion(bad), bad).toThrow('no version');
  });

  it('asks for the library of C that the native parts are linked with', () => {
    const least = /libc6 \(>= 2\.(\d+)\)/.exec(control)?.[1];
    const own = toNativeParts(toOwnArchitecture()).filter(({ name }) => name !== 'node');
    const files = own.flatMap(({ from, paths }) =>
      paths.filter((path) => path.endsWith('.node')).map((path) => join(root, 'node_modules', from, path)),
    );
    expect(files).toHaveLength(2);
    const versions = files.flatMap((path) => [...readFileSync(path, 'latin1').matchAll(/GLIBC_2\.(\d+)\b/g)]);
    expect(Math.max(...versions.map(([, minor]) => Number(minor)))).toBe(Number(least));
  });
});

describe('the parts for one processor', () => {
  it('are here for this one, and named for each', () => {
    for (const architecture of Object.keys(architectures).filter(isArchitecture)) {
      const parts = toNativeParts(architecture).filter(
        ({ isBound }) => !isBound || architecture === toOwnArchitecture(),
      );
      for (const { from, name, paths } of parts) {
        const places = [join('node/node_modules', from), name].map((place) => join(root, 'node_modules', place));
        for (const path of paths)
          expect(
            places.some((place) => existsSync(join(place, path))),
            `${name} ${path}`,
          ).toBe(true);
      }
    }
    expect(() => toOwnArchitecture('mips')).toThrow('no package for the processor mips');
  });

  it('and what is built in come with their licences', () => {
    const text = toLicenses(root);
    for (const [name, version] of Object.entries(product.dependencies))
      expect(text).toContain(`${name} ${version}\n\n`);
    expect(text).not.toContain('vitest');
  });
});

describe('a file for one processor', () => {
  const prebuilds = join(root, 'node_modules/better-sqlite3/prebuilds');
  const put = (...names: string[]) => {
    const to = join(tempDir(), 'tree');
    mkdirSync(join(to, 'below'), { recursive: true });
    for (const name of names) copyFileSync(join(prebuilds, name), join(to, 'below', name));
    writeFileSync(join(to, 'text'), 'no code');
    return to;
  };

  it('is known by what it says of itself, and refused in the tree of the other one', () => {
    const both = put('linux-arm64.node', 'linux-x64.node');
    expect(findNativeFiles(both)).toEqual([
      { path: 'below/linux-arm64.node', architecture: 'arm64' },
      { path: 'below/linux-x64.node', architecture: 'amd64' },
    ]);
    expect(() => checkNativeFiles(both, 'amd64')).toThrow('not for amd64: below/linux-arm64.node');
    expect(() => checkNativeFiles(both, 'arm64')).toThrow('not for arm64: below/linux-x64.node');
    expect(checkNativeFiles(put('linux-arm64.node'), 'arm64')).toBeUndefined();
    expect(checkNativeFiles(put('linux-x64.node'), 'amd64')).toBeUndefined();
  });

  it('is refused in every tree when it is of another system, of no processor with a package, or cut short', () => {
    for (const name of ['darwin-arm64.node', 'win32-x64.node'])
      expect(findNativeFiles(put(name))).toEqual([{ path: `below/${name}`, architecture: undefined }]);
    const tree = put();
    const head = readFileSync(join(prebuilds, 'linux-x64.node')).subarray(0, 64);
    for (const [name, bytes] of Object.entries({ cut: head.subarray(0, 19), riscv: Buffer.from(head) })) {
      if (name === 'riscv') bytes.writeUInt16LE(243, 18);
      writeFileSync(join(tree, name), bytes);
    }
    expect(() => checkNativeFiles(tree, 'amd64')).toThrow('not for amd64: cut, riscv');
  });
});

describe.skipIf(process.env.REMORA_TEST_PROGRAM === undefined)('the tree that is installed', () => {
  it('has all that its program loads, the version that is asked for, and modes that do not depend on its maker', async () => {
    const to = join(tempDir(), 'tree');
    const own = { root, to, architecture: toOwnArchitecture() } as const;
    expect(await makeInstallTree({ ...own, version: '9.8.7', program: dirname(remoraPath) })).toBe('9.8.7');
    const modes = readdirSync(to, { recursive: true, encoding: 'utf8' }).map(
      (path) => statSync(join(to, path)).mode & 0o7777,
    );
    expect(new Set(modes)).toEqual(new Set([0o755, 0o644]));
    const cpu = architectures[own.architecture];
    expect(findNativeFiles(to)).toEqual(
      [`@lydell/node-pty-linux-${cpu}/pty.node`, `better-sqlite3/prebuilds/linux-${cpu}.node`, 'node/bin/node'].map(
        (path) => ({ path: `node_modules/${path}`, architecture: own.architecture }),
      ),
    );
    const run = (command: string, ...words: string[]) =>
      execFileSync(join(to, command), words, { cwd: to, env: {}, encoding: 'utf8' });
    expect(run('bin/remora', 'agent', '--check')).toBe('9.8.7\n');
    const native =
      "new (require('better-sqlite3'))(':memory:'); require('@lydell/node-pty/requireBinary.js').requireBinary('pty.node');";
    expect(run('node_modules/.bin/node', '-e', `${native} console.log(process.version)`)).toBe(
      `v${product.dependencies.node}\n`,
    );
  });
});

describe('the maintainer scripts', () => {
  it('are scripts of a plain shell', () => {
    for (const [name, text] of Object.entries(maintainerScripts)) {
      expect(spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' }), name).toMatchObject({ status: 0, stderr: '' });
    }
  });

  it('know each unit, and start only what can be enabled', () => {
    const names = readdirSync(units).filter((name) => /\.(?:service|socket|path)$/.test(name));
    expect(all.toSorted()).toEqual(names.toSorted());
    for (const name of all) {
      expect(maintainerScripts.prerm, name).toContain(name);
      expect(maintainerScripts.postrm, name).toContain(name);
    }
    const isEnabled = (name: string) => readFileSync(join(units, name), 'utf8').includes('[Install]');
    expect([...startedUnits, ...offeredUnits].filter((name) => !isEnabled(name))).toEqual([]);
    expect(innerUnits.filter(isEnabled)).toEqual([]);
  });

  it('remove what the units keep, and nothing else', () => {
    const texts = all.map((name) => readFileSync(join(units, name), 'utf8'));
    const kept = texts.flatMap((text) => [
      ...[...text.matchAll(/^StateDirectory=(.+)$/gm)].map(([, name]) => `/var/lib/${name}`),
      ...[...text.matchAll(/^CacheDirectory=(.+)$/gm)].map(([, name]) => `/var/cache/${name}`),
    ]);
    const [, removed = ''] = /^\s*rm -rf \/etc\/remora (.*)$/m.exec(maintainerScripts.postrm) ?? [];
    expect(new Set(removed.split(' '))).toEqual(new Set(kept));
    expect(maintainerScripts.postrm).not.toMatch(/rm -r?f? .*remora-platform-key/);
  });

  it('fill the cache with the flags of the unit', () => {
    const service = readFileSync(join(units, 'remora.service'), 'utf8');
    const [, line = ''] = /^ExecStart=(.*)$/m.exec(service) ?? [];
    expect(maintainerScripts.postinst).toContain(`${line} --check`);
  });

  it('serve users that the package makes', () => {
    const users = readFileSync(join(units, 'remora.sysusers'), 'utf8');
    const named = all.flatMap((name) => /^User=(.+)$/m.exec(readFileSync(join(units, name), 'utf8'))?.[1] ?? []);
    for (const name of named) expect(users).toMatch(new RegExp(`^u ${name} `, 'm'));
    expect(users).toMatch(/^g remora /m);
  });
});

describe('the default settings', () => {
  const text = toDefaultSettings(settings)['etc/remora/agent.env'] ?? '';

  it('are comments, each of which is a setting that the agent takes', () => {
    expect(parseEnv(text)).toEqual({});
    const given = parseEnv(text.replaceAll(/^#(?=REMORA_)/gm, ''));
    const expected = Object.values(settings).map(({ env, ...row }) => [env, 'fallback' in row ? row.fallback : '']);
    expect(given).toEqual(Object.fromEntries(expected));
    const env = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    expect(loadConfig({ env, exists: () => false, readFile: () => '' })).toMatchObject({
      socket: '/run/remora/remora.sock',
    });
  });
});

describe('the manual', () => {
  const pages = {
    'remora.1': toCommandManual(commands, '1.2.3'),
    'remora-settings.5': toSettingManual(settings, '1.2.3'),
  };
  const plain = (text: string) =>
    text
      .replaceAll(/\\f[BIR]/g, '')
      .replaceAll('\\-', '-')
      .replaceAll('\\e', '\\');

  it('has each command with its flags, and each setting', () => {
    const text = plain(pages['remora.1']);
    for (const { name, flags, summary } of commands) {
      const section = text.split('\n.SS ').find((each) => each.startsWith(`remora ${name} [flags]`)) ?? '';
      expect(section, name).toContain(summary.replaceAll('`', ''));
      for (const flag of Object.keys(flags)) expect(section, name).toContain(`--${flag}`);
    }
    for (const { env, key } of Object.values(settings))
      expect(plain(pages['remora-settings.5'])).toContain(`${env}, ${key}\n`);
  });

  const isMissing = loudly(spawnSync('groff', ['--version']).status !== 0, 'no groff: the manual is not set');
  it.skipIf(isMissing).each(Object.entries(pages))('%s is set without a warning', (_, text) => {
    const run = spawnSync('groff', ['-Kutf8', '-man', '-Tutf8', '-ww', '-z'], { input: text, encoding: 'utf8' });
    expect(run).toMatchObject({ status: 0, stderr: '' });
  });
});
