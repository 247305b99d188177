// Answers the questions of programs for names: REFUSED to what the policy denies, without asking anybody; else what the name servers of the
// machine say, with its addresses open before the program has them.
import { notes, rcodes } from '../../core/dns/dns-codes.ts';
import type { DnsQuery } from '../../core/dns/read-query.ts';
import { TCP_BYTES, writeQuery, writeReply } from '../../core/dns/write-message.ts';
import type { AddressBytes } from '../../core/network-policy/address-ranges.ts';
import type { NetworkPolicy } from '../../core/network-policy/compile-policy.ts';
import { judgeQuery } from '../../core/network-policy/judge-query.ts';
import { type AnswerRewrite, rewriteAnswer } from '../../core/network-policy/rewrite-answer.ts';
import type { Asker, Resolve } from '../../dns/dns-front.ts';
import { askUpstream, type Reading, type Upstream } from './ask-upstream.ts';

/** Questions that wait for a server, of all programs together; beyond that a question fails at once. */
const OPEN_MAX = 512;
/** An extended error (RFC 8914) that its text explains. */
const OTHER_ERROR = 0;
/** What a server answers that knows no OPT record (RFC 6891, fallback). */
const NOT_UNDERSTOOD: ReadonlySet<number> = new Set([rcodes.FORMERR, rcodes.NOTIMP, rcodes.BADVERS]);

export interface ResolverOptions {
  /** The policy of this moment. */
  readonly policy: () => NetworkPolicy;
  /** Which addresses a name must not lead to. */
  readonly isBlockedFor: (name: string) => (address: AddressBytes) => boolean;
  readonly servers: () => readonly Upstream[];
  /** The one that must not be reached among the names that an allowed one leads to. */
  readonly findDeniedAlias: (name: string, aliases: readonly string[]) => string | undefined;
  /** The addresses are open when it returns. Throws when the kernel refuses that. */
  readonly learn: (
    name: string,
    aliases: readonly string[],
    opened: readonly { readonly address: string; readonly open_s: number }[],
  ) => void;
  readonly onRefused: (name: string, asker: Asker) => void;
}

type Written = Extract<AnswerRewrite, { readonly message: Uint8Array }>;

export function createResolver(options: ResolverOptions): Resolve {
  let open = 0;

  async function ask(query: DnsQuery, asker: Asker, signal: AbortSignal): Promise<Written | undefined> {
    const limit_bytes = asker.transport === 'udp' ? query.udp_bytes : TCP_BYTES;
    const isBlocked = options.isBlockedFor(query.name);
    return await askUpstream<Written>({
      write: (id, form) => writeQuery(query, id, form),
      read: (id, message): Reading<Written> => {
        const rewrite = rewriteAnswer({ query, id, isBlocked, limit_bytes }, message);
        if (rewrite.type === 'foreign' || rewrite.type === 'truncated') return { type: rewrite.type };
        if (rewrite.type === 'answer' && NOT_UNDERSTOOD.has(rewrite.rcode))
          return { type: 'not understood', answer: rewrite };
        return { type: 'read', answer: rewrite };
      },
      servers: options.servers(),
      signal,
    });
  }

  async function resolveAllowed(message: Buffer, query: DnsQuery, asker: Asker, signal: AbortSignal) {
    if (open >= OPEN_MAX) return fail(query, 'too many questions wait for an answer');
    open += 1;
    try {
      const answer = await ask(query, asker, signal);
      if (answer === undefined) return fail(query, 'no name server answers');
      // The policy may be another one by now.
      const verdict = judgeQuery(message, options.policy());
      if (verdict.type === 'denied') return verdict.message;
      if (answer.type !== 'answer') return answer.message;
      const aliases = answer.chain.slice(1);
      const denied = options.findDeniedAlias(query.name, aliases);
      if (denied !== undefined) {
        options.onRefused(denied, asker);
        const note = { code: notes.BLOCKED, text: `it leads to ${denied}, which the network policy does not allow` };
        return writeReply(query, { rcode: rcodes.REFUSED, note }).message;
      }
      if (answer.opened.length > 0) options.learn(query.name, aliases, answer.opened);
      return answer.message;
    } catch {
      return fail(query, 'the addresses cannot be opened');
    } finally {
      open -= 1;
    }
  }

  return async (message, asker, signal) => {
    const verdict = judgeQuery(message, options.policy());
    if (verdict.type === 'ignored') return undefined;
    if (verdict.type === 'allowed') return await resolveAllowed(message, verdict.query, asker, signal);
    if (verdict.type === 'denied') options.onRefused(verdict.query.name, asker);
    return verdict.message;
  };
}

/** SERVFAIL, with a reason for people. */
function fail(query: DnsQuery, text: string): Uint8Array {
  return writeReply(query, { rcode: rcodes.SERVFAIL, note: { code: OTHER_ERROR, text } }).message;
}
