// Makes, restores or removes a checkpoint, and kills itself right before a step. Arguments: directory, action, step; no step kills nothing
// and the steps are printed.
import { writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { openMachineCheckpoints } from './machine-checkpoints.ts';

// It is killed, and would compile all of this at each start.
flushCompileCache();
const [dir = '', action = '', fatal] = process.argv.slice(2);

const checkpoints = openMachineCheckpoints(dir, {
  debug(fields) {
    const { step } = fields as { step: string };
    if (step === fatal) process.kill(process.pid, 'SIGKILL');
    if (fatal === undefined) writeFileSync(1, `${step}\n`);
  },
  error: (fields) => writeFileSync(2, `${String((fields as { err: unknown }).err)}\n`),
});
if (action === 'make') await checkpoints.make('second');
if (action === 'restore') await checkpoints.restore('v0');
if (action === 'remove') await checkpoints.remove('v0');
