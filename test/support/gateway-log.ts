// The log of gateway calls of an agent. Where the disk is slow, it first says that it is not ready.
import type { z } from 'zod';
import { gatewayLog } from '../../src/contract/local/gateway.ts';
import { ask } from './ask.ts';
import { eventually } from './eventually.ts';

export type ReadLog = z.infer<typeof gatewayLog> & { readonly text: string };

/** Reads it once it is ready. `socket`: of the agent. `query` begins with `?`. Throws for every other answer. */
export async function readGatewayLog(socket: string, query = ''): Promise<ReadLog> {
  return await eventually(async () => {
    const { status, json, text } = await ask(socket, { target: `/v1/gateway/log${query}` });
    return status !== 503 && { ...gatewayLog.parse(json), text };
  });
}
