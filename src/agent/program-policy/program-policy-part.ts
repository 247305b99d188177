// What the programs of this machine may do and use: it comes over the channel, and the supervisor keeps it and to it. What holds is read from the
// supervisor's file, so that nobody starts a supervisor by looking.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
import { createPolicyOfBoot } from '../policy-of-boot.ts';
import type { ProcessLink } from '../process-link.ts';
import { whyOff } from '../supervisor/why-off.ts';

export interface ProgramPolicyPartOptions {
  readonly config: {
    readonly socket: string;
    readonly stateDir: string;
    readonly user: string | undefined;
    /** The digest of the policies that are to hold, as of the boot. */
    readonly programPolicy: string | undefined;
  };
  /** The user of the agent. */
  readonly uid: number;
  /** The supervisor, which a call starts once programs may run. Throws `not_configured` and `start_failed`. */
  readonly openLink: () => Promise<ProcessLink>;
}

export interface ProgramPolicyPart {
  readonly handlers: Handlers<typeof ownProgramPolicyOperations, Caller>;
  /** Looks whether the disk is older than the policies, so that it can be said. */
  start(): void;
  /** Resolves when what the supervisor reads from the disk is what is to hold: at once where the disk is not older than the policies. */
  mayRun(): Promise<void>;
  /** Headers with which a channel is asked for: the platform looks at a machine whose programs are restricted. */
  toHeaders(): Readonly<Record<string, string>>;
  /** What `/v1/status` shows: what holds for programs that start now, or why it is not known. */
  describe(): ProgramPolicy | { readonly error: string };
}

const AWAITED =
  'nothing runs before the platform has brought the policies of privileges and resources: those on the disk are others';

export function createProgramPolicyPart({ config, uid, openLink }: ProgramPolicyPartOptions): ProgramPolicyPart {
  const path = join(config.stateDir, PROGRAM_POLICY_FILE);
  const read = () => readPolicy(path);
  const ofBoot = createPolicyOfBoot<ProgramPolicy>({
    digest: config.programPolicy,
    path: join(dirname(config.socket), 'programs-confirmed'),
    async toDigest() {
      const { digestProgramPolicy } = await import('../../core/digest-program-policy.ts');
      return digestProgramPolicy;
    },
  });
  let isAwaited = false;
  let holding: Promise<void> | undefined;

  /** Whether the platform has to bring what is to hold. What cannot be read is not that. */
  async function look(): Promise<boolean> {
    isAwaited = !(await ofBoot.isThis(read).catch(() => false));
    return isAwaited;
  }

  function confirm(): void {
    isAwaited = false;
    ofBoot.confirm();
  }

  async function enforce(policy: ProgramPolicy): Promise<ProgramPolicy> {
    if (isEmptyPolicy(policy) && !existsSync(path)) return noProgramPolicy;
    const off = whyOff(config.user, uid);
    if (off !== undefined) {
      // No supervisor runs that would lift it.
      if (isEmptyPolicy(policy)) return forget(path);
      throw notEnforced(off);
    }
    if (await look()) {
      // The supervisor starts the services by itself: it has to find what holds for them.
      const { placePolicy } = await import('./place-policy.ts');
      placePolicy(path, policy);
      confirm();
    }
    const { sendPolicy } = await import('./send-policy.ts');
    return await sendPolicy(await openLink(), policy);
  }

  function mayRun(): Promise<void> {
    holding ??= look().then((isToCome) => (isToCome ? ofBoot.confirmed() : undefined));
    return holding;
  }

  return {
    mayRun,
    start: () => void mayRun(),
    handlers: {
      readPrivilegesPolicy: () => read().privileges,
      readResourcesPolicy: () => read().resources,
      async readProgramPolicy() {
        // Only what the platform brings is confirmed, even where the disk has the same by now.
        if (await look()) throw new RemoraError('not_ready', AWAITED);
        return read();
      },
      async enforceProgramPolicy({ body }) {
        const enforced = await enforce(body);
        confirm();
        return enforced;
      },
    },
    toHeaders: () =>
      existsSync(path) || config.programPolicy !== undefined ? { [PROGRAMS_RESTRICTED_HEADER]: 'true' } : {},
    describe() {
      if (isAwaited) return { error: AWAITED };
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
