import { existsSync, globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeBuiltProgram } from './support/built-program.ts';
import { startBuilt } from './support/start-built.ts';

const root = new URL('..', import.meta.url).pathname;
// Every process and thread of a test compiles the same sources, which costs more than most of what they do. The program keeps what
// is compiled in the same place.
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/remora`;

// What tests start is what is shipped: built code, whose processes start for half of what the sources cost. REMORA_TEST_SOURCES=1 has them started from
// the sources instead.
const program = process.env.REMORA_TEST_SOURCES === '1' ? undefined : await makeBuiltProgram();
if (program !== undefined) process.env.REMORA_TEST_PROGRAM = program;
const plugins = program === undefined ? [] : [startBuilt(program)];

const include = ['test/**/*.test.ts'];
const exclude = ['test/soak/**', 'test/vm/**'];
// A library that starts a timer while timers are false keeps it, and no later timer of its own would fire. What stands in for a module would
// come too late for files that were loaded before, and stay for those that come after.
const alone = globSync(include, { cwd: root, exclude }).filter((path) =>
  /useFakeTimers|vi\.mock\(/.test(readFileSync(root + path, 'utf8')),
);

// A long file that begins last runs on with every other worker idle. Where nothing is known of an earlier run, Vitest goes by the size
// of a file, which says nothing of what takes long by what it imports.
const long = [
  'test/sprite-api/every-method.test.ts',
  'test/sprite-api/checkpoints.test.ts',
  'test/platform/two-platforms.test.ts',
  'test/systemd/watchdog.test.ts',
  'test/platform/openapi-fuzz.test.ts',
  'test/cli/dev/dev.test.ts',
  'test/agent/app-secrets/app-secrets.test.ts',
  'test/platform/fuzz.test.ts',
  'test/channel/hostile-frames.test.ts',
  'test/platform/extensions/kill-table.test.ts',
  'test/cli/operators-walk.test.ts',
  'test/sprite-api/two-platforms-proxy.test.ts',
  'test/sprite-api/two-platforms.test.ts',
  'test/platform/machines-outlive.test.ts',
  'test/agent/idle/idle-suspend.test.ts',
  'test/supervisor/services/kills.test.ts',
  'test/platform/idle/sprites.test.ts',
  'test/agent/resume-reports/daemon.test.ts',
  'test/sprite-api/local-twins.test.ts',
  'test/platform/idle/apps.test.ts',
  'test/agent/replication/follow/reconnect.test.ts',
  'test/sprite-api/canaries.test.ts',
  'test/cli/dev/extension-tour.test.ts',
  'test/agent/gateway/fine-chunks.test.ts',
  'test/agent/restart/restart.test.ts',
  'test/platform/extensions/killed-processes.test.ts',
];
const absent = long.filter((path) => !existsSync(root + path));
if (absent.length > 0) throw new Error(`test/vitest.config.ts names files that are not there: ${absent.join(', ')}`);

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(long.map((path, index) => [root + path, index - long.length]));
    const placeOf = ({ moduleId, project }: TestSpecification) =>
      project.name === 'main' ? (places.get(moduleId) ?? 0) : -Infinity;
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => placeOf(one) - placeOf(other) || 0);
  }
}

const shared = {
  root,
  pool: 'forks' as const,
  environment: 'node',
  // Far more than a test needs: what comes by itself comes soon, but on a machine with other work nobody can say how soon.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
};

export default defineConfig({
  test: {
    globalSetup: './test/support/end-left-processes.ts',
    // Tests wait more than they compute: with four on two processors these are idle for a tenth of the time.
    maxWorkers: 6,
    sequence: { sequencer: LongFirst },
    projects: [
      // A process of its own and all modules once more would cost each file half a second, and most files take less. A test puts back
      // what it changes in its process.
      { plugins, test: { ...shared, name: 'main', include, exclude: [...exclude, ...alone], isolate: false } },
      { plugins, test: { ...shared, name: 'alone', include: alone, exclude } },
      { plugins, test: { ...shared, name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 } },
      {
        plugins,
        test: { ...shared, name: 'vm', include: ['test/vm/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
      },
    ],
  },
});
