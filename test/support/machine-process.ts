// What a machine runs in the tests of the platform: a parent with a child of its own, which tell their pids and how far they got.
// Argument `stubborn`: ends by force only. `crash`: ends by itself at once. `silent`: never reports. `crash-later`, `end-later`: ends by
// itself once it has reported. `escape`: leaves processes in sessions of their own. `breed`: starts one after another. `lose`: leaves one
// that shows no environment and whose parent has ended.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { json as readJson } from 'node:stream/consumers';
import { nodeHttp } from '../../src/http/node-http.ts';

const dir = process.env.REMORA_STATE_DIR ?? '.';
const mode = process.argv[2];

if (mode === 'crash') {
  process.stderr.write('nothing works here\n\u001b[31mgiving up\n');
  process.exit(7);
}
if (mode === 'stubborn') process.on('SIGTERM', () => undefined);
const child = spawn('sleep', ['600'], { stdio: 'ignore' });
let ticks = 0;
const report = () => {
  ticks += 1;
  const path = join(dir, 'report.json');
  const text = JSON.stringify({ pid: process.pid, child: child.pid, ticks, env: process.env });
  writeFileSync(`${path}~`, text);
  renameSync(`${path}~`, path);
};
report();
setInterval(report, 20);
if (mode === 'escape')
  await leave('setsid sleep 600 & (setsid sh -c "trap : TERM; sleep 600 & wait; exec sleep 600" &)');
// The file is there before its text is, and who is frozen in between never writes it.
if (mode === 'lose') {
  const write = 'echo \\$\\$ > $REMORA_STATE_DIR/lost~; mv $REMORA_STATE_DIR/lost~ $REMORA_STATE_DIR/lost';
  await leave(`(setsid env -i PATH="$PATH" sh -c "${write}; exec sleep 600" &)`);
  while (!existsSync(join(dir, 'lost'))) await new Promise((resolve) => setTimeout(resolve, 10));
}
if (mode === 'breed') setInterval(() => spawn('sleep', ['600'], { stdio: 'ignore', detached: true }), 5);
if (mode !== 'silent') await tell();
// It is ended by force in most tests, and would compile all of this at each start.
flushCompileCache();
if (mode === 'crash-later') process.exit(7);
if (mode === 'end-later') process.exit(0);

/** Runs a line of the shell, which ends and leaves what it has started. */
async function leave(line: string): Promise<void> {
  await once(spawn('sh', ['-c', line], { stdio: 'ignore' }), 'exit');
}

/** The first report of an agent. */
async function tell(): Promise<void> {
  const { REMORA_BASE_URL, REMORA_APP, REMORA_MACHINE, REMORA_TOKEN_FILE = '' } = process.env;
  const claimed = { generation: 0, incarnation: randomBytes(16).toString('hex') };
  const url = `${REMORA_BASE_URL}/v1/apps/${REMORA_APP}/machines/${REMORA_MACHINE}/resumed`;
  // Many machines are started: fetch would take half of what each of them costs.
  const call = nodeHttp.request(url, {
    agent: false,
    method: 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(REMORA_TOKEN_FILE, 'utf8')}`,
      'content-type': 'application/json',
    },
  });
  call.end(JSON.stringify({ ...claimed, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] }));
  const [answer]: IncomingMessage[] = await once(call, 'response');
  if (answer?.statusCode !== 200) throw new Error(`the platform answered ${answer?.statusCode}`);
  const told = Object.assign({ instance_id: process.env.FLY_MACHINE_VERSION }, await readJson(answer));
  writeFileSync(join(dir, 'answer.json~'), JSON.stringify(told));
  renameSync(join(dir, 'answer.json~'), join(dir, 'answer.json'));
}
