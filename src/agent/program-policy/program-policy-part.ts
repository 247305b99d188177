// What the programs of this machine may do and use: it comes over the channel, and the supervisor keeps it and to it. What holds is read from the
// supervisor's file, so that nobody starts a supervisor by looking.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS_RESTRICTED_HEADER } from '../../contract/channel.ts';
import {
  type ownProgramPolicyOperations,
  type ProgramPolicy,
  programPolicy,
} from '../../contract/local/program-policy.ts';
import { errorCode } from '../../core/error-code.ts';
import { isEmptyPolicy, noProgramPolicy } from '../../core/program-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { PROGRAM_POLICY_FILE } from '../../core/supervisor-wire.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Caller } from '../access/authenticator.ts';
import type { ProcessLink } from '../process-link.ts';
import { whyOff } from '../supervisor/why-off.ts';

export interface ProgramPolicyPartOptions {
  readonly config: { readonly stateDir: string; readonly user: string | undefined };
  /** The user of the agent. */
  readonly uid: number;
  /** The supervisor, which a call starts. Throws `not_configured` and `start_failed`. */
  readonly openLink: () => Promise<ProcessLink>;
}

export interface ProgramPolicyPart {
  readonly handlers: Handlers<typeof ownProgramPolicyOperations, Caller>;
  /** Headers with which a channel is asked for: the platform looks at a machine whose programs are restricted. */
  toHeaders(): Readonly<Record<string, string>>;
  /** For `/v1/status`: what holds for programs that start now, or why it is not known. */
  describe(): ProgramPolicy | { readonly error: string };
}

export function createProgramPolicyPart({ config, uid, openLink }: ProgramPolicyPartOptions): ProgramPolicyPart {
  const path = join(config.stateDir, PROGRAM_POLICY_FILE);
  const read = () => readPolicy(path);
  return {
    handlers: {
      readPrivilegesPolicy: () => read().privileges,
      readResourcesPolicy: () => read().resources,
      readProgramPolicy: read,
      async enforceProgramPolicy({ body }) {
        if (isEmptyPolicy(body) && !existsSync(path)) return noProgramPolicy;
        const off = whyOff(config.user, uid);
        if (off !== undefined) {
          // No supervisor runs that would lift it.
          if (isEmptyPolicy(body)) return forget(path);
          throw notEnforced(off);
        }
        const { sendPolicy } = await import('./send-policy.ts');
        return await sendPolicy(await openLink(), body);
      },
    },
    toHeaders: () => (existsSync(path) ? { [PROGRAMS_RESTRICTED_HEADER]: 'true' } : {}),
    describe() {
      try {
        return read();
      } catch (error) {
        return { error: (error as Error).message };
      }
    },
  };
}

/** Throws `internal` for a file that cannot be read: nobody may take it for no policy. */
function readPolicy(path: string): ProgramPolicy {
  try {
    return programPolicy.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return noProgramPolicy;
    throw new RemoraError('internal', `${path} cannot be read: no program starts until the policy is set again`, {
      cause,
    });
  }
}

function forget(path: string): ProgramPolicy {
  rmSync(path, { force: true });
  return noProgramPolicy;
}

function notEnforced(off: string): RemoraError {
  const message = `this policy cannot be enforced here: ${off}; nothing is changed`;
  return new RemoraError('not_supported', message, { details: { missing: 'the user of this sprite (REMORA_USER)' } });
}
