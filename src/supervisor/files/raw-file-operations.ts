// The file operations as a server of them answers: the handler writes each answer itself, because a list may be long, and because what
// another process answers is passed on as bytes.
import { localFileOperations } from '../../contract/local/inside.ts';

type Local = typeof localFileOperations;
type Raw<Ops> = { readonly [K in keyof Ops]: Omit<Ops[K], 'answer'> & { readonly answer: { readonly kind: 'raw' } } };

export type RawFileOperations = Raw<Local>;

export const rawFileOperations = Object.fromEntries(
  Object.entries(localFileOperations).map(([id, operation]) => [id, { ...operation, answer: { kind: 'raw' } }]),
) as unknown as RawFileOperations;
