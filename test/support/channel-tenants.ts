// A platform with two organizations and machines that tests play, as a child process.
import { z } from 'zod';
import { startChild } from './child-lines.ts';
import { tempDir } from './temp-dir.ts';

const machine = z.object({ sprite: z.string(), id: z.string(), app: z.string(), token: z.string() });
export type PlayedMachine = z.infer<typeof machine>;

const tenant = z.object({ token: z.string(), machines: z.array(machine) });
const said = z.object({ url: z.string(), tenants: z.tuple([tenant, tenant]) });
const script = new URL('channel-tenants-child.ts', import.meta.url).pathname;

/** `cuts(id)` resolves with why the channel of a machine was cut, by the audit. */
export async function startChannelTenants(machines: number) {
  const child = startChild(process.execPath, [script, tempDir(), String(machines)]);
  const { url, tenants } = said.parse(JSON.parse(await child.line(/^\{"url/)));
  const { pid } = child.process;
  if (pid === undefined) throw new Error('the platform has no process');
  const cut = async (id: string): Promise<string> =>
    JSON.parse(await child.line(new RegExp(`"channel_cut","machine":"${id}"`))).reason;
  return { url, pid, hostile: tenants[0], neighbour: tenants[1], cut, line: child.line };
}
