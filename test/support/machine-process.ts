// What a machine runs in the tests of the platform: a parent with a child of its own, which tell their pids and how far they got.
// Argument `stubborn`: ends by force only. `crash`: ends by itself at once.
import { spawn } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const dir = process.env.REMORA_STATE_DIR ?? '.';
const mode = process.argv[2];

if (mode === 'crash') process.exit(7);
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
