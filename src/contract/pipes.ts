// A pipe: the connection with which the proxy of one platform process reaches a port of a machine of another one.

import { HTTP_AUTHORITY, PORT_AUTHORITY } from './channel.ts';
import * as z from './lazy-zod.ts';
import { machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { reachErrors } from './reach-errors.ts';

/** The value of `Upgrade`. */
export const PIPE_PROTOCOL = 'remora-pipe/1';

/** `to`: where the connection leads in the machine, as the `:authority` of a CONNECT on its channel. */
export const pipeQuery = z.object({
  to: z
    .string()
    .refine((text) => text === HTTP_AUTHORITY || PORT_AUTHORITY.test(text), 'must be web, or port: and a port'),
});

export const pipeOperations = {
  openPipe: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/pipe',
    summary:
      'Connect the proxy of another platform process to a port of a machine, which is started if need be; afterwards the bytes of the connection',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp'],
    access: 'organization',
    readOnly: false,
    params: machineParams,
    query: pipeQuery,
    answer: { kind: 'raw' },
    upgrade: PIPE_PROTOCOL,
    errors: [
      'invalid_request',
      'unauthorized',
      'forbidden',
      'not_found',
      'upgrade_required',
      'service_stopped',
      'shutting_down',
      ...reachErrors,
    ],
  }),
} as const;
