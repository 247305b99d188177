// Which life of the machine this is: a generation that counts resumes and is kept, and an incarnation that is random and is not.
import { generationHeader, incarnationHeader } from '../../contract/agent-identity.ts';
import { randomHex } from '../../core/urandom.ts';

const INCARNATION_BYTES = 16;

/** Keeps the generation across restarts of the agent. */
export interface GenerationStore {
  load(): number;
  save(generation: number): void;
}

export interface Life {
  /** The next generation and a new incarnation, both at once and in memory; `save` makes the generation durable. */
  renew(): void;
  save(): void;
  readonly generation: number;
  readonly incarnation: string;
  /** For every call to the platform. */
  readonly headers: Record<string, string>;
}

export function createLife(store: GenerationStore): Life {
  let generation = store.load();
  let incarnation = randomHex(INCARNATION_BYTES);
  return {
    renew() {
      generation += 1;
      incarnation = randomHex(INCARNATION_BYTES);
    },
    save() {
      store.save(generation);
    },
    get generation() {
      return generation;
    },
    get incarnation() {
      return incarnation;
    },
    get headers() {
      return { [generationHeader]: String(generation), [incarnationHeader]: incarnation };
    },
  };
}
