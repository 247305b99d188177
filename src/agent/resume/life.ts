// Which life of the machine this is: a generation that counts resumes, and an incarnation that no other machine has. Both are kept
// together and renewed by a resume only, so that a restart of the agent is the same life to the platform.
import { generationHeader, incarnationHeader } from '../../contract/agent-identity.ts';
import type { MachineLife } from '../../contract/resume-reports.ts';
import { randomHex } from '../../core/urandom.ts';

const INCARNATION_BYTES = 16;

/** Keeps the life across restarts of the agent. */
export interface LifeStore {
  /** Undefined at the first start. */
  load(): MachineLife | undefined;
  save(life: MachineLife): void;
}

export interface Life {
  /** Makes a life that was made just now, at the first start, durable. */
  keep(): void;
  /** The next generation and a new incarnation, both at once and in memory; `save` makes them durable. */
  renew(): void;
  save(): void;
  readonly generation: number;
  readonly incarnation: string;
  /** For every call to the platform; the same object until the life is renewed. */
  readonly headers: Readonly<Record<string, string>>;
}

export function createLife(store: LifeStore): Life {
  const kept = store.load();
  let life: MachineLife = kept ?? { generation: 0, incarnation: randomHex(INCARNATION_BYTES) };
  let headers = toHeaders(life);
  return {
    keep() {
      if (kept === undefined) store.save(life);
    },
    renew() {
      life = { generation: life.generation + 1, incarnation: randomHex(INCARNATION_BYTES) };
      headers = toHeaders(life);
    },
    save() {
      store.save(life);
    },
    get generation() {
      return life.generation;
    },
    get incarnation() {
      return life.incarnation;
    },
    get headers() {
      return headers;
    },
  };
}

function toHeaders({ generation, incarnation }: MachineLife): Readonly<Record<string, string>> {
  return { [generationHeader]: String(generation), [incarnationHeader]: incarnation };
}
