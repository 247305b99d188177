// What the platform tells providers by CloudEvents (Extensions API, Webhooks from the platform to the provider). The specification shows
// neither `data` nor the notices that are not of machines (DECISIONS.md, "Notices to providers").

import { machineEvent } from './extension-webhooks.ts';
import * as z from './lazy-zod.ts';
import { machineEventType, machineStates } from './machine-events.ts';
import { userRole } from './sign-on.ts';

/** Comes before the words of each type; the last word of the type of a machine is the state that it has reached, or `failed` for a crash. */
export const NOTICE_TYPE = 'io.remora';

/** `data` of a machine event. `Error` is there for a crash, and for a machine that could not be started. */
export const machineEventData = z.object({
  Transition: z.object({ from: z.enum(machineStates), to: z.enum(machineStates), trigger: machineEventType }),
  Error: z.object({ message: z.string(), exit_code: z.int().nullable(), signal: z.string().nullable() }).optional(),
});
export type MachineEventData = z.infer<typeof machineEventData>;

/** The body of a machine event that the platform sends, without what is signed with it. */
export const machineNotice = machineEvent.extend({ data: machineEventData });
export type MachineNotice = z.infer<typeof machineNotice>;

/** `io.remora.organization.user_added`, `user_removed` and `user_role_changed`. `data.from` is the role before, of a change only. */
export const memberNotice = z.object({
  organization_id: z.string().min(1),
  user_id: z.string().min(1),
  status: z.enum(['user_added', 'user_removed', 'user_role_changed']),
  data: z.object({ role: userRole, from: userRole.optional() }),
});
export type MemberNotice = z.infer<typeof memberNotice>;

/** `io.remora.host.drained` and `undrained`. `data.machine_ids` names the machines of the provider's app on that host, a hundred at most. */
export const hostNotice = z.object({
  host: z.string().min(1),
  status: z.enum(['drained', 'undrained']),
  data: z.object({ machine_ids: z.array(z.string()) }),
});
export type HostNotice = z.infer<typeof hostNotice>;
