// One machine of a sprite on a platform of a test, and what is asked of it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineConfig } from '../../src/contract/machine-config.ts';
import { eventually } from './eventually.ts';
import { readReport, type TestPlatform } from './open-platform.ts';

/** `app`: that of the organization when absent. */
export async function machineOf(platform: TestPlatform, sprite: string, config?: MachineConfig, app = 'acme') {
  const given = config === undefined ? {} : { config };
  await platform.admin.createSprite({ organization: 'acme', name: sprite, app, ...given });
  const { id, dir } = await platform.admin.readMachine({ organization: 'acme', sprite });
  const path = `/v1/apps/${app}/machines/${id}`;
  const post = (action: string, body?: unknown) => platform.call({ method: 'POST', path: `${path}/${action}`, body });
  const wait = async (query: string) => (await platform.call({ path: `${path}/wait?${query}` })).status;
  const read = async () => (await platform.call({ path })).json;
  /** The oldest first: `type status`, and the cause where there is one. */
  async function events(): Promise<readonly string[]> {
    const { json } = await platform.call({ path: `${path}/events` });
    return json
      .toReversed()
      .map((event: Readonly<Record<string, unknown>>) =>
        [event.type, event.status, event.cause].filter((word) => word !== undefined).join(' '),
      );
  }
  return {
    id,
    dir,
    path,
    post,
    wait,
    read,
    events,
    report: () => eventually(() => readReport(dir)),
    /** What the platform answered to the first report of the last boot. */
    async told() {
      const { instance_id } = await read();
      return await eventually(() => {
        const told = readAnswer(dir);
        return told?.instance_id === instance_id ? told : undefined;
      });
    },
    async suspend() {
      await post('suspend');
      return await wait('state=suspended');
    },
    async stop() {
      await post('stop');
      return await wait('state=stopped');
    },
  };
}

function readAnswer(dir: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(readFileSync(join(dir, 'state', 'answer.json'), 'utf8'));
  } catch {
    return undefined;
  }
}
