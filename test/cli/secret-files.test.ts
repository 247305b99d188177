// Files with secrets: made for their owner alone whatever the umask, refused when others may use them, and gone at every end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { loudly } from '../support/loudly.ts';
import { runHere } from '../support/run-here.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const isNotRoot = () => loudly(process.getuid?.() !== 0, 'not root: nothing can be given to another user here');

describe('a vault key', () => {
  test('is made in a file for its owner alone, which is not written over, and starts a platform', async () => {
    const dir = tempDir();
    const key = join(dir, 'key');
    const made = spawn('sh', ['-c', `umask 022; "${process.execPath}" "${remoraPath}" platform key "${key}"`], {
      stdio: 'ignore',
    });
    expect((await once(made, 'exit'))[0]).toBe(0);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    const text = readFileSync(key, 'utf8');
    expect((await runHere(['platform', 'key', key])).code).toBe(1);
    expect(readFileSync(key, 'utf8')).toBe(text);
    const missing = await runHere(['platform', 'rotate', '--dir', join(dir, 'none'), '--key-file', key]);
    expect(missing.err).toContain('there is no platform');
  });

  test.each([0o644, 0o640, 0o622])('that others may use (mode %o) is refused with what to do', async (mode) => {
    const dir = tempDir();
    const key = join(dir, 'key');
    writeFileSync(key, 'ab'.repeat(32));
    chmodSync(key, mode);
    const { code, err } = await runHere(['platform', '--dir', join(dir, 'p'), '--port', '0', '--key-file', key]);
    expect(code).toBe(1);
    expect(err).toContain(`chmod 600 ${key}`);
    expect(err).not.toContain('abab');
    expect(existsSync(join(dir, 'p'))).toBe(false);
  });
});

test.each(['--token-file', '--api-key-file'])('%s of mode 0644 is used, with a line of what to do', async (flag) => {
  const file = join(tempDir(), 'secret');
  writeFileSync(file, 'hunter2');
  const words = ['connector', 'create', 'openai', '--url', 'http://127.0.0.1:1'];
  for (const mode of [0o644, 0o600]) {
    chmodSync(file, mode);
    const run = await runHere([...words, '--api-key-file', file, '--token-file', file]);
    expect(run.err).toMatch(/^error: /m);
    expect(run.err.split('\n').filter((line) => line.startsWith(flag))).toEqual(
      mode === 0o600 ? [] : [`${flag}: others may read ${file}; chmod 600 ${file}`],
    );
    expect(run.err).not.toContain('hunter2');
  }
});

describe('the directory of a platform', () => {
  const refused = async (dir: string) => {
    const env = { REMORA_PLATFORM_KEY: 'ab'.repeat(32) };
    const { code, err } = await runHere(['platform', '--dir', dir, '--port', '0'], env);
    expect(code).toBe(1);
    expect(readdirSync(dir)).toEqual([]);
    return err;
  };

  test('is refused while others may write to it, with what to do', async () => {
    const dir = tempDir();
    chmodSync(dir, 0o777);
    expect(await refused(dir)).toMatch(new RegExp(`^error: others may write to ${dir}; .*chmod go-w ${dir} .*$`));
  });

  test.skipIf(isNotRoot())('is refused when it belongs to somebody else', async () => {
    const dir = tempDir();
    chownSync(dir, 65_534, 65_534);
    expect(await refused(dir)).toContain(`${dir} belongs to user 65534`);
  });
});

describe('remora dev', () => {
  const refused = async (dir: string) => {
    const { code, err } = await runHere(['dev', '--dir', dir, '--port', '0']);
    expect(code).toBe(1);
    return err;
  };

  test('follows no link, to its directory or in it', async () => {
    const [own, other] = [tempDir(), tempDir()];
    symlinkSync(other, join(own, 'link'));
    expect(await refused(join(own, 'link'))).toContain('is a link');
    expect(readdirSync(other)).toEqual([]);
    for (const name of ['vault.key', 'platform', 'platform.log', 'dev.json']) {
      const dir = join(own, `with-${name}`);
      mkdirSync(dir, { mode: 0o700 });
      symlinkSync(join(other, 'target'), join(dir, name));
      expect(await refused(dir), name).toContain(`${name} is a link`);
      expect(existsSync(join(other, 'target'))).toBe(false);
    }
  });

  test('takes no directory that others may write to, and no key that others may read', async () => {
    const dir = tempDir();
    chmodSync(dir, 0o777);
    expect(await refused(dir)).toContain('may be changed by others');
    chmodSync(dir, 0o700);
    writeFileSync(join(dir, 'vault.key'), 'ab'.repeat(32));
    chmodSync(join(dir, 'vault.key'), 0o644);
    expect(await refused(dir)).toContain('is not a key of this user alone');
  });

  test.skipIf(isNotRoot())('takes no directory and no key of somebody else', async () => {
    const dir = tempDir();
    chownSync(dir, 65_534, 65_534);
    expect(await refused(dir)).toContain('belongs to somebody else');
    chownSync(dir, 0, 0);
    writeFileSync(join(dir, 'vault.key'), 'ab'.repeat(32), { mode: 0o600 });
    chownSync(join(dir, 'vault.key'), 65_534, 65_534);
    expect(await refused(dir)).toContain('vault.key belongs to somebody else');
  });

  test('whose reader is gone puts everything away, as at a signal', async () => {
    const dir = tempDir();
    const child = spawn(process.execPath, [remoraPath, 'dev', '--dir', dir, '--port', '0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdout.destroy();
    child.stderr.destroy();
    const exited = once(child, 'exit');
    const seen = new Set<string | null>();
    const watcher = watch(dir, (_, name) => seen.add(name));
    onTestFinished(() => watcher.close());
    expect((await exited)[0]).toBe(0);
    await eventually(() => (seen.has('dev.json') && seen.has('authorization.header') ? true : undefined));
    for (const name of ['dev.json', 'authorization.header', 'agent.sock'])
      expect(existsSync(join(dir, name)), name).toBe(false);
  });
});
