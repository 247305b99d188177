// What holds for the programs that the supervisor starts: the policies of this sprite, in a file that the next supervisor finds. A file that
// cannot be read lets nothing start.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProgramPolicy, programPolicy } from '../../contract/local/program-policy.ts';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import { isEmptyPolicy, noProgramPolicy, toProgramPolicy } from '../../core/program-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { PROGRAM_POLICY_FILE } from '../../core/supervisor-wire.ts';
import { type Cgroup, openCgroup } from '../../linux/processes/cgroup.ts';
import { replaceDurably } from '../replace-durably.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import { findMissingPart } from './find-missing-part.ts';
import { toPrivilegeFlags } from './privilege-flags.ts';

/** What holds for one program from its start on. */
export interface Restraint {
  /** Words for `setpriv`. */
  readonly flags: readonly string[];
  /** Makes the control group of the program; undefined where it needs none and none can be made. Throws a message for people. */
  openGroup(name: string): Cgroup | undefined;
}

export class Restraints {
  readonly #path: string;
  readonly #user: SupervisorOptions['user'];
  readonly #changes = createKeyedMutex();

  constructor({ stateDir, user }: Pick<SupervisorOptions, 'stateDir' | 'user'>) {
    this.#path = join(stateDir, PROGRAM_POLICY_FILE);
    this.#user = user;
  }

  /** For a program that starts now. Throws a message for people where the policy cannot be kept to: the program must not start then. */
  current(): Restraint {
    const { privileges, resources } = this.#read();
    const missing = findMissingPart({ privileges, resources }, this.#user);
    if (missing !== undefined) throw new Error(`the policy of this sprite cannot be kept to: it needs ${missing}`);
    return { flags: toPrivilegeFlags(privileges), openGroup: openCgroup };
  }

  /**
   * Resolves with what holds for programs that start from now on; those that run keep what they have. Throws `not_supported` with what is
   * missing here, and nothing is changed.
   */
  async set(policy: ProgramPolicy): Promise<ProgramPolicy> {
    const next = toProgramPolicy(policy);
    const missing = findMissingPart(next, this.#user);
    if (missing !== undefined) throw notKept(missing);
    await this.#changes.run('', () =>
      replaceDurably(this.#path, isEmptyPolicy(next) ? undefined : JSON.stringify(next)),
    );
    return next;
  }

  #read(): ProgramPolicy {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return noProgramPolicy;
      throw new Error(`the policy of this sprite cannot be read: ${toErrorMessage(error)}`);
    }
    try {
      return programPolicy.parse(JSON.parse(text));
    } catch {
      throw new Error(`${this.#path} is damaged, and nothing starts without it; set the policies of this sprite again`);
    }
  }
}

function notKept(missing: string): RemoraError {
  const message = `this policy cannot be enforced here: it needs ${missing}; nothing is changed`;
  return new RemoraError('not_supported', message, { details: { missing } });
}
