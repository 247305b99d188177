// A secret of a test that is looked for in every form in which it could have been written down.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** It differs in each of the forms. */
export const CANARY = 'cänary+/=?&"3fb1c7e2-9d04';

/** As text, as JSON, in URLs, in hex, and in base64 with any number of bytes before it. */
const forms: readonly Buffer[] = [
  CANARY,
  JSON.stringify(CANARY).slice(1, -1),
  encodeURIComponent(CANARY),
  new URLSearchParams({ a: CANARY }).toString().slice(2),
  Buffer.from(CANARY).toString('hex'),
  Buffer.from(CANARY).toString('hex').toUpperCase(),
  ...[0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(CANARY)]);
    // The groups that bytes before and after it could change are cut off.
    const whole = (text: string) => text.slice(before === 0 ? 0 : 4, Math.floor(bytes.length / 3) * 4);
    return [whole(bytes.toString('base64')), whole(bytes.toString('base64url'))];
  }),
].map((text) => Buffer.from(text));

export function hasCanary(bytes: Buffer | string): boolean {
  const buffer = Buffer.from(bytes);
  return forms.some((form) => buffer.includes(form));
}

/** The files below a directory that have it. */
export function filesWithCanary(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(dir, name);
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true && hasCanary(readFileSync(path));
  });
}

/** The processes whose arguments or environment have it, but those that a supervisor has started for people. */
export function processesWithCanary(): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const [words, env] = [readProcess(pid, 'cmdline'), readProcess(pid, 'environ')];
    return hasCanary(words) || (hasCanary(env) && !env.includes('REMORA_SERVICE='));
  });
}

function readProcess(pid: string, name: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${name}`);
  } catch {
    return Buffer.alloc(0);
  }
}
