// Which incarnation of the machine this is: a generation that counts resumes, a random id, and the platform's nonce, which no
// copy of the machine has. They are stored together and only a resume renews them, so that a restart is the same incarnation.
import { generationHeader, incarnationHeader, nonceHeader } from '../../contract/agent-identity.ts';
import type { MachineIncarnation, ResumeReportResponse } from '../../contract/resume-reports.ts';
import { Secret } from '../../core/secret.ts';
import { mixEntropy, randomHex, renewEntropy } from '../../core/urandom.ts';

const INCARNATION_BYTES = 16;

export interface KeptIncarnation extends MachineIncarnation {
  readonly nonce: Secret | undefined;
  /** True when a platform has accepted a report of this installation, in this incarnation or an earlier one. */
  readonly isKnown: boolean;
}

/** Keeps the incarnation across restarts of the agent. */
export interface IncarnationStore {
  /** Undefined at the first start. */
  load(): KeptIncarnation | undefined;
  save(kept: KeptIncarnation): void;
}

export interface Incarnation {
  /** Makes the incarnation of the first start durable; it is in memory only until then. */
  keep(): void;
  /** Begins the next generation with a new incarnation, in memory only; `save` makes both durable. */
  renew(): void;
  save(): void;
  /**
   * Takes the platform's answer to the report of an incarnation and makes it durable at once: its nonce is in every later random
   * draw and call, and a machine that took over goes on in the generation of the answer. No effect when the machine was resumed since.
   */
  accept(incarnation: string, answer: Pick<ResumeReportResponse, 'nonce' | 'generation'>): void;
  /** The stored form, for the next process. */
  readonly kept: KeptIncarnation;
  readonly generation: number;
  readonly incarnation: string;
  /** Headers for every call to the platform; the same object until the incarnation is renewed. */
  readonly headers: Readonly<Record<string, string>>;
}

export function createIncarnation(store: IncarnationStore): Incarnation {
  const kept = store.load();
  let current: KeptIncarnation = kept ?? {
    generation: 0,
    incarnation: randomHex(INCARNATION_BYTES),
    nonce: undefined,
    isKnown: false,
  };
  let headers = toHeaders(current);
  return {
    keep() {
      if (kept === undefined) store.save(current);
    },
    renew() {
      renewEntropy();
      const { generation, isKnown } = current;
      current = { generation: generation + 1, incarnation: randomHex(INCARNATION_BYTES), nonce: undefined, isKnown };
      headers = toHeaders(current);
    },
    save() {
      store.save(current);
    },
    accept(incarnation, { nonce, generation = current.generation }) {
      if (incarnation !== current.incarnation) return;
      if (nonce === undefined && current.isKnown && generation === current.generation) return;
      if (nonce !== undefined) mixEntropy(Buffer.from(nonce));
      current = {
        generation,
        incarnation,
        nonce: nonce === undefined ? current.nonce : new Secret(nonce),
        isKnown: true,
      };
      headers = toHeaders(current);
      store.save(current);
    },
    get kept() {
      return current;
    },
    get generation() {
      return current.generation;
    },
    get incarnation() {
      return current.incarnation;
    },
    get headers() {
      return headers;
    },
  };
}

function toHeaders({ generation, incarnation, nonce }: KeptIncarnation): Readonly<Record<string, string>> {
  const headers = { [generationHeader]: String(generation), [incarnationHeader]: incarnation };
  return nonce === undefined ? headers : { ...headers, [nonceHeader]: nonce.reveal() };
}
