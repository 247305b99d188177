// The definitions of the services, in one file that is replaced in one step: a crash at any moment leaves the old definitions or the
// new ones. The values of variables are in it, so that only the supervisor may read it.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { serviceName, serviceRequest } from '../../contract/services.ts';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { SERVICES_FILE } from '../../core/supervisor-wire.ts';
import { replaceDurably } from '../replace-durably.ts';
import { RunNotes } from './run-note.ts';

const definition = z.object({
  name: serviceName,
  request: serviceRequest,
  /** Somebody stopped it: it stays stopped until somebody starts it. */
  isStopped: z.boolean(),
});
export type ServiceDefinition = z.infer<typeof definition>;

const file = z.object({ version: z.literal(1), services: z.array(definition) });

export interface ServiceStore {
  /** Throws `internal` when the file is damaged. Call it once, before `save`. */
  load(): Promise<readonly ServiceDefinition[]>;
  /** Resolves when the definitions are on the disk. Each call waits for the earlier ones. */
  save(definitions: readonly ServiceDefinition[]): Promise<void>;
}

export function toServicesFile(stateDir: string): string {
  return join(stateDir, SERVICES_FILE);
}

/** Whether services are defined, or processes of services may be left: the file is removed with the last service. */
export function hasServices(stateDir: string): boolean {
  return existsSync(toServicesFile(stateDir)) || new RunNotes(stateDir).list().size > 0;
}

export function createServiceStore(stateDir: string): ServiceStore {
  const path = toServicesFile(stateDir);
  let last: Promise<unknown> = Promise.resolve();

  async function write(definitions: readonly ServiceDefinition[]): Promise<void> {
    const text = definitions.length === 0 ? undefined : JSON.stringify({ version: 1, services: definitions });
    await replaceDurably(path, text);
  }

  return {
    async load() {
      const text = await readOrNothing(path);
      return text === undefined ? [] : parseFile(path, text);
    },
    save(definitions) {
      const step = () => write(definitions);
      const mine = last.then(step, step).catch((cause: unknown) => {
        const why = toErrorMessage(cause);
        throw new RemoraError('internal', `the definitions of services cannot be written: ${why}`, { cause });
      });
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

function parseFile(path: string, text: string): readonly ServiceDefinition[] {
  try {
    return file.parse(JSON.parse(text)).services;
  } catch {
    // The cause would show values of variables.
    throw new RemoraError('internal', `${path} is damaged: mend or remove it, then start the supervisor again`);
  }
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
