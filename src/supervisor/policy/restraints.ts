// What holds for the programs that the supervisor starts: the policies of this sprite, in a file that the next supervisor finds. A file that
// cannot be read lets nothing start.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProgramPolicy, programPolicy } from '../../contract/local/program-policy.ts';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import { isEmptyPolicy, noProgramPolicy, toProgramPolicy } from '../../core/program-policy.ts';
import { refuseFields } from '../../core/refuse-field.ts';
import { PROGRAM_POLICY_FILE } from '../../core/supervisor-wire.ts';
import { randomHex } from '../../core/urandom.ts';
import { findDevice } from '../../linux/processes/device-filter.ts';
import { unlimitMemory } from '../../linux/processes/limited-group.ts';
import { replaceDurably } from '../replace-durably.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import { type Restraint, toRestraint } from './to-restraint.ts';

/** So many are named; the rest is counted. */
const SHOWN = 20;

export class Restraints {
  readonly #path: string;
  readonly #user: SupervisorOptions['user'];
  readonly #changes = createKeyedMutex();

  constructor({ stateDir, user }: Pick<SupervisorOptions, 'stateDir' | 'user'>) {
    this.#path = join(stateDir, PROGRAM_POLICY_FILE);
    this.#user = user;
  }

  /** What holds for a program that starts now. Rejects with a message for people where the policy cannot be kept to: the program must not start then. */
  async current(): Promise<Restraint> {
    return await toRestraint(this.#read(), this.#user);
  }

  /**
   * Resolves with what holds for programs that start from now on; those that run keep what they have, but for a limit of memory. Rejects with
   * `not_supported` and what is missing here, and with `invalid_request` for a device that is not there; nothing is changed then.
   */
  async set(policy: ProgramPolicy): Promise<ProgramPolicy> {
    const next = toProgramPolicy(policy);
    checkDevices(next);
    return await this.#changes.run('', async () => {
      await this.#try(next);
      try {
        await replaceDurably(this.#path, isEmptyPolicy(next) ? undefined : JSON.stringify(next));
      } finally {
        // What runs under a limit is to have the one that is on the disk.
        await this.#limitAgain();
      }
      return next;
    });
  }

  async #limitAgain(): Promise<void> {
    const held = this.#read();
    if (held.resources.memory === undefined) unlimitMemory();
    else await this.#try(held);
  }

  /** The whole way: a group like that of a program is made. */
  async #try(policy: ProgramPolicy): Promise<void> {
    const restraint = await toRestraint(policy, this.#user);
    restraint.openGroup(`remora-probe-${randomHex(8)}`)?.remove();
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

function checkDevices({ privileges: { devices = [] } }: ProgramPolicy): void {
  const fields = devices.flatMap((path, at) =>
    findDevice(path) === undefined
      ? [
          {
            field: `body.devices.${at}`,
            message: `there is no device ${path} in this machine; name one that is in /dev`,
          },
        ]
      : [],
  );
  if (fields.length > 0) throw refuseFields(fields.slice(0, SHOWN), fields.length);
}
