import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;
// Every process and thread of a test compiles the same sources, which costs more than most of what they do. The program keeps what
// is compiled in the same place.
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/remora`;

const include = ['test/**/*.test.ts'];
const exclude = ['test/soak/**', 'test/vm/**'];
// A library that starts a timer while timers are false keeps it, and no later timer of its own would fire.
const alone = globSync(include, { cwd: root, exclude }).filter((path) =>
  readFileSync(root + path, 'utf8').includes('useFakeTimers'),
);

const shared = {
  root,
  pool: 'forks' as const,
  environment: 'node',
  // Far more than a test needs: what comes by itself comes soon, but on a machine with other work nobody can say how soon.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 20_000 } },
};

export default defineConfig({
  test: {
    globalSetup: './test/support/end-left-processes.ts',
    // Tests wait far more than they compute: one for each processor, or fewer, would leave most of it idle.
    maxWorkers: 4,
    projects: [
      // A process of its own and all modules once more would cost each file half a second, and most files take less. A test puts back
      // what it changes in its process.
      { test: { ...shared, name: 'main', include, exclude: [...exclude, ...alone], isolate: false } },
      { test: { ...shared, name: 'alone', include: alone, exclude } },
      { test: { ...shared, name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 } },
      {
        test: { ...shared, name: 'vm', include: ['test/vm/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
      },
    ],
  },
});
