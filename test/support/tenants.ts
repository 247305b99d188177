// A platform with two organizations as a child process.
import { z } from 'zod';
import { startChild } from './child-lines.ts';
import { tempDir } from './temp-dir.ts';

export interface Tenant {
  readonly token: string;
  /** The path of its connector, up to that of the provider. */
  readonly prefix: string;
}

export interface Tenants {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly tenants: readonly [Tenant, Tenant];
}

const said = z.object({ url: z.string(), tokens: z.tuple([z.string(), z.string()]) });
const script = new URL('tenants-child.ts', import.meta.url).pathname;

/** `origins` are those of the providers, of plain HTTP. */
export async function startTenants(origins: readonly [string, string]): Promise<Tenants> {
  const child = startChild(process.execPath, [script, tempDir(), ...origins]);
  const { url, tokens } = said.parse(JSON.parse(await child.line(/^\{/)));
  const toTenant = (index: 0 | 1) => ({ token: tokens[index], prefix: `/v1/gateway/provider_${index}/conn_${index}` });
  const { pid } = child.process;
  if (pid === undefined) throw new Error('the platform has no process');
  return { url, port: Number(new URL(url).port), pid, tenants: [toTenant(0), toTenant(1)] };
}
