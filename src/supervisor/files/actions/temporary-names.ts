// Names of what is being written. The process that writes is in it, by its pid and its start, so that what a dead one left is known.
import { randomHex } from '../../../core/urandom.ts';
import { readProcessStart } from '../../../linux/processes/process-start.ts';

const PROC = '/proc';
const PREFIX = '.remora-write-';
const NAME = /^\.remora-write-(\d{1,10})-(\d{1,20})-[0-9a-f]{16}$/;

let prefix: string | undefined;

export function createTemporaryName(): Buffer {
  prefix ??= `${PREFIX}${process.pid}-${readProcessStart(PROC, process.pid) ?? 0}-`;
  return Buffer.from(prefix + randomHex(8));
}

export function isTemporaryName(name: string): boolean {
  return NAME.test(name);
}

/** Whether the process that made this name is gone. False for every other name. */
export function isLeftOver(name: string): boolean {
  const [, pid, start] = NAME.exec(name) ?? [];
  return pid !== undefined && readProcessStart(PROC, Number(pid)) !== start;
}
