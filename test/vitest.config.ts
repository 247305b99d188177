import { defineConfig } from 'vitest/config';

const shared = {
  root: new URL('..', import.meta.url).pathname,
  pool: 'forks' as const,
  environment: 'node',
  // Far more than a test needs: what comes by itself comes soon, but on a machine with other work nobody can say how soon.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 20_000 } },
};

export default defineConfig({
  test: {
    // Tests wait far more than they compute: one for each processor, or fewer, would leave most of it idle.
    maxWorkers: 3,
    projects: [
      { test: { ...shared, name: 'main', include: ['test/**/*.test.ts'], exclude: ['test/soak/**', 'test/vm/**'] } },
      { test: { ...shared, name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 } },
      {
        test: { ...shared, name: 'vm', include: ['test/vm/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
      },
    ],
  },
});
