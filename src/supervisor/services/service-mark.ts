// The variable that marks every process of a service. A process keeps it whatever session or group it moves to.
import { createHash } from 'node:crypto';
import { serviceName } from '../../contract/services.ts';

export const SERVICE_VARIABLE = 'REMORA_SERVICE';

export interface ServiceMarks {
  toMark(name: string): string;
  /** The service of a mark; undefined for marks of another supervisor, and for what is no name: a process chooses its own environment. */
  toName(mark: string | undefined): string | undefined;
}

/** Marks of one state directory: those of two supervisors differ, those of a supervisor and of the one after it are the same. */
export function createServiceMarks(stateDir: string): ServiceMarks {
  const prefix = `${createHash('sha256').update(stateDir).digest('hex').slice(0, 16)}/`;
  return {
    toMark: (name) => `${prefix}${name}`,
    toName: (mark) =>
      mark?.startsWith(prefix) === true ? serviceName.safeParse(mark.slice(prefix.length)).data : undefined,
  };
}
