import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ask } from '../../support/ask.ts';
import { type DevProcess, startDev } from '../../support/dev-process.ts';
import { paste, pasteJson, pasteLines } from '../../support/paste.ts';
import { readIfThere } from '../../support/read-if-there.ts';
import { readLines } from '../../support/read-lines.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath, runRemora } from '../../support/run-remora.ts';
import { signalRunning } from '../../support/signal-running.ts';
import { tempDir } from '../../support/temp-dir.ts';

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Every process that has `dir` in its environment or its words. */
function processesOf(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        const text = readFileSync(`/proc/${pid}/environ`, 'latin1') + readFileSync(`/proc/${pid}/cmdline`, 'latin1');
        return text.includes(dir);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function socketsIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(dir, path)).isSocket());
}

describe('remora dev', () => {
  const dir = mkdtempSync(join(tmpdir(), 'rem-dev-'));
  let dev: DevProcess;
  beforeAll(async () => {
    dev = await startDev({ dir });
  });
  afterAll(async () => {
    await dev?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  it('writes dev.json for this user alone and prints no token', () => {
    expect(statSync(join(dir, 'dev.json')).mode & 0o777).toBe(0o600);
    const { record } = dev;
    expect(record).toMatchObject({ sprite: 'dev-1', socket: join(dir, 'agent.sock') });
    expect(record.user).toMatchObject({ email: 'dev@example.com', user_id: expect.stringMatching(/^user_/) });
    expect(record.connectors).toContainEqual({ id: 'sample', provider: 'sample' });
    expect(record.connectors).toContainEqual({ id: 'custom', provider: 'custom_api' });
    for (const secret of [record.token, record.sprite_token]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(dev.stdout() + dev.stderr()).not.toContain(secret);
    }
  });

  it('status: identity and parts', async () => {
    const status = await pasteJson(dev.commandFor('what the agent says of itself'));
    const { app, machine, sprite } = dev.record;
    expect(status).toMatchObject({ identity: { app, machine, sprite }, state: 'awake' });
  });

  it('a gateway call reaches the provider with its credential, which the caller does not see', async () => {
    const echo = await pasteJson(dev.commandFor('a call through the gateway'));
    expect(echo).toMatchObject({ method: 'GET', target: '/hello?from=dev', body_bytes: 0 });
    expect(JSON.stringify(echo)).toContain('Bearer sk-s…(');
    expect(JSON.stringify(echo)).not.toMatch(/sk-sample/);
  });

  it('a denied call is denied, and explained', async () => {
    expect(await pasteJson(dev.commandFor('a call that the policy denies'))).toMatchObject({
      error: 'endpoint_blocked',
    });
    expect(await pasteJson(dev.commandFor('and why'))).toMatchObject({ decision: 'deny', rule: '/admin*' });
  });

  it('a stream comes through the gateway', async () => {
    const text = await paste(dev.commandFor('a stream through the gateway'));
    expect(text.match(/^event: beat$/gm)).toHaveLength(3);
  });

  it('an SDK that knows TCP only gets an address and a key', async () => {
    const env = { REMORA_SOCKET: dev.record.socket };
    const run = await runHere(['env', '--connector', 'sample', '--json'], env);
    const { SAMPLE_BASE_URL: url, SAMPLE_API_KEY: key } = JSON.parse(run.out) as Record<string, string>;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/gateway\/sample\/sample$/);
    const answer = await fetch(`${url}/hello`, { headers: { authorization: `Bearer ${key}` } });
    expect(await answer.json()).toMatchObject({ method: 'GET', target: '/hello' });
    expect((await fetch(`${url}/hello`)).status).toBe(401);
  });

  it('ports, and ports as they change', async () => {
    expect(await pasteJson(dev.commandFor('open ports'))).toMatchObject({ ports: expect.any(Array) });
    const watch = await readLines('/v1/ports/watch', dev.record.socket);
    expect(await watch.next()).toMatchObject({ type: 'port_list' });
    expect(dev.commandFor('ports as they open')).toContain('http://remora/v1/ports/watch');
    const [first] = await pasteLines(dev.commandFor('ports as they open'), 1);
    expect(first).toMatchObject({ type: 'port_list' });
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    // Other programs of this machine open and close ports as well.
    const changeOf = async (type: string) => {
      for (;;) {
        const line = await watch.next();
        if (line.port === port && line.type === type) return line;
      }
    };
    expect(await changeOf('port_opened')).toMatchObject({ pid: process.pid });
    server.close();
    expect(await changeOf('port_closed')).toMatchObject({ pid: process.pid });
  });

  it('replication: the primary, a wait that works, and the stream', async () => {
    const report = await pasteJson(dev.commandFor('how fresh the replica is'));
    expect(report).toMatchObject({ primary: 'remote', hostname: 'db-primary:20202' });
    const command = dev.commandFor('wait for a transaction');
    const wanted = /txid=([0-9a-f]{16})/.exec(command)?.[1] ?? '';
    const position = await pasteJson(command);
    expect(String(position.txID) >= wanted).toBe(true);
    const [init, tx] = await pasteLines(dev.commandFor("the database node's own stream"), 2);
    expect(init).toMatchObject({ type: 'init', data: { isPrimary: false } });
    expect(tx).toMatchObject({ type: 'tx', db: 'app.db' });
  });

  it('events from the first on', async () => {
    const [hello, first] = await pasteLines(dev.commandFor('every event of the agent'), 2);
    expect(hello).toMatchObject({ type: 'hello' });
    expect(first).toMatchObject({ seq: expect.any(Number), generation: expect.any(Number) });
  });

  it('suspend, wait, start: it sleeps, wakes and knows it', async () => {
    const status = dev.commandFor('what the agent says of itself');
    const before = await pasteJson(status);
    expect(await pasteJson(dev.commandFor('the machine suspends itself'))).toEqual({ ok: true });
    expect(await pasteJson(dev.commandFor('wait until it is suspended'))).toEqual({ ok: true });
    expect(readFileSync(`/proc/${before.pid}/status`, 'utf8')).toMatch(/^State:\s+T/m);
    expect(await pasteJson(dev.commandFor('wake it'))).toMatchObject({ previous_state: 'suspended' });
    await expect.poll(async () => (await pasteJson(status)).generation).toBeGreaterThan(Number(before.generation));
    const after = await pasteJson(status);
    expect(after.pid).toBe(before.pid);
    await expect.poll(async () => (await pasteJson(status)).state).toBe('awake');
  });

  it('the database node goes away and comes back, and becomes the primary', async () => {
    expect(await pasteJson(dev.commandFor('goes away'))).toEqual({ down_ms: 5_000 });
    await expect
      .poll(() =>
        fetch(dev.record.node_url).then(
          () => 'up',
          () => 'down',
        ),
      )
      .toBe('down');
    await expect
      .poll(() =>
        fetch(dev.record.node_url).then(
          () => 'up',
          () => 'down',
        ),
      )
      .toBe('up');
    expect(await pasteJson(dev.commandFor('becomes the primary'))).toMatchObject({ isPrimary: true });
    const replication = dev.commandFor('how fresh the replica is');
    await expect.poll(async () => (await pasteJson(replication)).primary).toBe('self');
  });

  it('is refused a second time in the same directory, and goes on', async () => {
    const second = await runRemora(['dev', '--dir', dir, '--port', '0']);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/another remora dev runs in .*--dir DIR and --port 0/);
    expect(await pasteJson(dev.commandFor('what the agent says of itself'))).toMatchObject({ pid: expect.any(Number) });
    expect(existsSync(join(dir, 'dev.json'))).toBe(true);
  });

  it('names a port that is taken', async () => {
    const port = new URL(dev.record.platform_url).port;
    const second = await runRemora(['dev', '--dir', tempDir(), '--port', port]);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`port ${port} is in use.*--port 0`));
  });

  describe('asked by the other commands', () => {
    async function askWith(...words: string[]) {
      const { code, out, err } = await runHere(words, { REMORA_SOCKET: dev.record.socket });
      return { code, stdout: out, stderr: err };
    }

    it('status as a table and as JSON', async () => {
      const table = await askWith('status');
      expect(table.code).toBe(0);
      expect(table.stdout).toMatch(/^agent +\d+\.\d+\.\d+, pid \d+/m);
      expect(table.stdout).toMatch(/^PART +STATE +SINCE/m);
      expect(table.stdout).toMatch(/^ports +ok /m);
      expect(table.stdout).not.toContain('\x1b');
      const json = await askWith('status', '--json');
      expect(JSON.parse(json.stdout)).toMatchObject({ identity: { sprite: 'dev-1' } });
    });

    it('ports', async () => {
      const server = createServer();
      onTestFinished(() => void server.close());
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const address = server.address();
      const port = String(typeof address === 'object' ? address?.port : '');
      await expect
        .poll(async () => (await askWith('ports')).stdout)
        .toMatch(new RegExp(`^${port} +${process.pid} `, 'm'));
      expect(JSON.parse((await askWith('ports', '--json')).stdout)).toMatchObject({ ports: expect.any(Array) });
    });

    it('connectors', async () => {
      const table = await askWith('connectors');
      expect(table.stdout).toMatch(/^sample +sample +/m);
      expect(table.stdout).not.toContain('sample_closed');
    });

    it('explain, with the exit code of the decision', async () => {
      const allowed = await askWith('explain', 'get', '/v1/gateway/sample/sample/hello');
      expect(allowed).toMatchObject({ code: 0 });
      expect(allowed.stdout).toMatch(/^decision +allow/m);
      const denied = await askWith('explain', 'GET', 'http://remora/v1/gateway/sample/sample/x/..%2fadmin/x', '--json');
      expect(denied.code).toBe(1);
      expect(JSON.parse(denied.stdout).decision).not.toBe('allow');
    });

    it('explain of a connector by its name', async () => {
      const { platform_url, token } = dev.record;
      const named = await fetch(`${platform_url}/v1/oauth/connections/sample`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'to-try' }),
      });
      expect(named.status).toBe(200);
      await expect.poll(async () => (await askWith('connectors')).stdout).toContain('sample (to-try)');
      const allowed = await askWith('explain', 'get', '/v1/gateway/sample/to-try/hello');
      expect(allowed.stdout).toMatch(/^decision +allow/m);
      expect((await askWith('explain', 'get', '/v1/gateway/custom_api/to-try/hello')).code).toBe(1);
    });

    it('wait, and its error with the code', async () => {
      const reached = await askWith('wait', 'app.db', '1');
      expect(reached.stdout).toMatch(/^app\.db +[0-9a-f]{16} +[0-9a-f]{16} /m);
      const late = await askWith('wait', 'app.db', 'ffffffffffff', '--timeout', '100ms');
      expect(late.code).toBe(1);
      expect(late.stderr).toMatch(/^error: .+timeout/);
    });

    it('curl, with its exit code', async () => {
      const curl = (...words: string[]) => runRemora(['curl', ...words], { env: { REMORA_SOCKET: dev.record.socket } });
      const status = await curl('/v1/health');
      expect(status).toMatchObject({ code: 0, stdout: '{"status":"ok"}\n', stderr: '' });
      expect((await curl('--fail', '/v1/nothing')).code).toBe(22);
      const nothing = await curl('/v1/nothing');
      expect([nothing.code, JSON.parse(nothing.stdout)]).toMatchObject([22, { error: 'not_found' }]);
      expect((await curl('--no-fail-with-body', '/v1/nothing')).code).toBe(0);
      const unheard = await runRemora(['curl', '--socket', join(dir, 'none.sock'), '/v1/health']);
      expect(unheard.code).toBe(7);
    });
  });

  it('says so when its machine dies', async () => {
    const { pid } = await pasteJson(dev.commandFor('what the agent says of itself'));
    signalRunning(Number(pid), 'SIGKILL');
    await expect.poll(() => dev.stderr()).toMatch(/the machine has stopped.*agent\.log/);
    // The platform starts it again by itself, which may have begun.
    expect(await pasteJson(dev.commandFor('wake it'))).toMatchObject({
      previous_state: expect.stringMatching(/^(stopped|starting|running)$/),
    });
    await expect.poll(() => dev.stderr()).toMatch(/the machine runs again/);
    const health = () => ask(dev.record.socket, { target: '/v1/health' }).then(({ status }) => status);
    await expect.poll(() => health().catch(() => 'no answer')).toBe(200);
  });

  it('keeps credentials out of output, logs, databases and the environment of the machine', async () => {
    const { pid } = await pasteJson(dev.commandFor('what the agent says of itself'));
    const machineToken = readFileSync(join(dir, 'platform', 'machines', dev.record.machine, 'token'), 'utf8').trim();
    const vaultKey = readFileSync(join(dir, 'vault.key'), 'utf8').trim();
    const secrets = [dev.record.token, dev.record.sprite_token, machineToken, vaultKey, 'sk-sample-'];
    const places = ['dev.json', 'authorization.header', 'vault.key', 'token'];
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8', withFileTypes: true })
      .filter((entry) => entry.isFile() && !places.includes(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.map((path) => path.slice(dir.length))).toEqual(
      expect.arrayContaining(['/platform.log', '/platform/platform.db', expect.stringMatching(/agent\.log$/)]),
    );
    const texts = [
      ['stdout', dev.stdout()],
      ['stderr', dev.stderr()],
      ['environment', readFileSync(`/proc/${pid}/environ`, 'latin1')],
      // A journal may be gone by now.
      ...files.map((path) => [path, readIfThere(path, 'latin1')] as const),
    ];
    for (const [place, text] of texts) {
      for (const secret of secrets)
        expect(text?.includes(secret) ?? false, `${secret.slice(0, 9)}… in ${place}`).toBe(false);
    }
    for (const name of ['vault.key', 'dev.json', 'authorization.header', 'platform.log', 'platform', 'node']) {
      expect(statSync(join(dir, name)).mode & 0o077, name).toBe(0);
    }
  });

  it('ends on Ctrl-C, also when npm passes it on a second time, and leaves no process and no socket', async () => {
    expect(processesOf(dir).length).toBeGreaterThan(1);
    const ended = dev.end('SIGINT');
    setTimeout(() => isRunning(dev.pid) && process.kill(dev.pid, 'SIGINT'), 5);
    expect(await ended).toBe(0);
    expect(processesOf(dir)).toEqual([]);
    expect(socketsIn(dir)).toEqual([]);
    expect(existsSync(join(dir, 'dev.json'))).toBe(false);
    expect(existsSync(join(dir, 'node', 'app.db'))).toBe(true);
    await expect(fetch(dev.record.platform_url)).rejects.toThrow();
    await expect(fetch(dev.record.node_url)).rejects.toThrow();
  });
});

it('ends when npm is told to end, which tells only the shell in between', async () => {
  const dir = tempDir();
  const words = ['--dir', dir, '--port', '0'];
  const script = `${process.execPath} ${remoraPath} dev ${words.join(' ')} & child=$!; echo started; wait $child`;
  const shell = spawn('sh', ['-c', script], {
    env: { ...process.env, npm_lifecycle_event: 'start' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await expect.poll(() => existsSync(join(dir, 'dev.json')), { timeout: 60_000 }).toBe(true);
  shell.kill('SIGTERM');
  await once(shell, 'exit');
  await expect.poll(() => processesOf(dir)).toEqual([]);
  expect(existsSync(join(dir, 'dev.json'))).toBe(false);
});

describe('two of them', () => {
  it('run side by side, one in the default directory, which goes at the end; both end on other signals', async () => {
    const temporary = tempDir();
    const home = join(temporary, process.getuid?.() === 0 ? 'remora-dev' : `remora-dev-${process.getuid?.()}`);
    const kept = tempDir();
    await using one = await startDev({ dir: home, words: ['--port', '0'], env: { TMPDIR: temporary } });
    await using other = await startDev({ dir: kept });
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(one.record.socket).not.toBe(other.record.socket);
    const found = await runRemora(['status', '--json'], { env: { TMPDIR: temporary } });
    if (!existsSync('/run/remora/remora.sock')) {
      expect(JSON.parse(found.stdout)).toMatchObject({ identity: { machine: one.record.machine } });
    }
    expect(await one.end('SIGTERM')).toBe(0);
    expect(existsSync(home)).toBe(false);
    const status = await pasteJson(other.commandFor('what the agent says of itself'));
    expect(isRunning(Number(status.pid))).toBe(true);
    expect(await other.end('SIGHUP')).toBe(0);
    expect(isRunning(Number(status.pid))).toBe(false);
    expect(processesOf(temporary)).toEqual([]);
    expect(processesOf(kept)).toEqual([]);
  });
});

it('cleans up after one that was killed, and goes on with its data', async () => {
  const dir = tempDir();
  const first = await startDev({ dir });
  const { pid } = await pasteJson(first.commandFor('what the agent says of itself'));
  await first.end('SIGKILL');
  await using second = await startDev({ dir });
  expect(isRunning(Number(pid))).toBe(false);
  expect(second.record.machine).toBe(first.record.machine);
  expect(await pasteJson(second.commandFor('a call through the gateway'))).toMatchObject({ target: '/hello?from=dev' });
});

it('works in a directory whose path is too long for a socket', async () => {
  const dir = join(tempDir(), 'a-long-name'.repeat(12));
  await using dev = await startDev({ dir });
  expect(Buffer.byteLength(dev.record.socket)).toBeLessThan(107);
  expect(await pasteJson(dev.commandFor('what the agent says of itself'))).toMatchObject({ state: 'awake' });
  await dev.end('SIGTERM');
  expect(existsSync(dev.record.socket)).toBe(false);
});
