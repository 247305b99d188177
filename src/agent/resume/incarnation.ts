// Which incarnation of the machine this is: a generation that counts resumes, a random id, and the platform's nonce, which no
// copy of the machine has. They are stored together and only a resume renews them, so that a restart is the same incarnation.
import { generationHeader, incarnationHeader, nonceHeader } from '../../contract/agent-identity.ts';
import type { MachineIncarnation, ResumeReportResponse } from '../../contract/resume-reports.ts';
import { Secret } from '../../core/secret.ts';
import { mixEntropy, randomHex, renewEntropy } from '../../core/urandom.ts';

const INCARNATION_BYTES = 16;

export interface KeptLife extends MachineIncarnation {
  readonly nonce: Secret | undefined;
  /** True when a platform has accepted a report of this installation, in this incarnation or an earlier one. */
  readonly isKnown: boolean;
}

/** Keeps the incarnation across restarts of the agent. */
export interface IncarnationStore {
  /** Undefined at the first start. */
  load(): KeptLife | undefined;
  save(life: KeptLife): void;
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
  /** The stored form, for the next image of this process. */
  readonly kept: KeptLife;
  readonly generation: number;
  readonly incarnation: string;
  /** Headers for every call to the platform; the same object until the incarnation is renewed. */
  readonly headers: Readonly<Record<string, string>>;
}

export function createIncarnation(store: IncarnationStore): Incarnation {
  const kept = store.load();
  let life: KeptLife = kept ?? {
    generation: 0,
    incarnation: randomHex(INCARNATION_BYTES),
    nonce: undefined,
    isKnown: false,
  };
  let headers = toHeaders(life);
  return {
    keep() {
      if (kept === undefined) store.save(life);
    },
    renew() {
      renewEntropy();
      const { generation, isKnown } = life;
      life = { generation: generation + 1, incarnation: randomHex(INCARNATION_BYTES), nonce: undefined, isKnown };
      headers = toHeaders(life);
    },
    save() {
      store.save(life);
    },
    accept(incarnation, { nonce, generation = life.generation }) {
      if (incarnation !== life.incarnation) return;
      if (nonce === undefined && life.isKnown && generation === life.generation) return;
      if (nonce !== undefined) mixEntropy(Buffer.from(nonce));
      life = { generation, incarnation, nonce: nonce === undefined ? life.nonce : new Secret(nonce), isKnown: true };
      headers = toHeaders(life);
      store.save(life);
    },
    get kept() {
      return life;
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

function toHeaders({ generation, incarnation, nonce }: KeptLife): Readonly<Record<string, string>> {
  const headers = { [generationHeader]: String(generation), [incarnationHeader]: incarnation };
  return nonce === undefined ? headers : { ...headers, [nonceHeader]: nonce.reveal() };
}
