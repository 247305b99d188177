// Watches for resumes with the real kernel and prints each finding as a line of JSON. `block MS` on standard input makes its loop
// busy for so long.
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { createResumeWatch } from '../../src/agent/resume/resume-watch.ts';
import { createKernel } from '../../src/linux/kernel/kernel.ts';

const watch = createResumeWatch({
  kernel: createKernel(),
  onFinding: (finding) => console.log(JSON.stringify(finding)),
});
watch.start(new AbortController().signal);
createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, ms] = line.split(' ');
  const end_ms = performance.now() + Number(ms);
  if (verb === 'block') while (performance.now() < end_ms);
  console.log(JSON.stringify({ type: 'did', verb, signals: watch.signals() }));
});
// It is killed, and would compile all of this at each start.
flushCompileCache();
console.log(JSON.stringify({ type: 'ready' }));
