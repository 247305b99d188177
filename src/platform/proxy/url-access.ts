// Who may open the URL of a sprite: everybody where it is public; else the organization and the sprite by their tokens, and people who are
// signed on, as its settings say. A name that nobody has answers like one that is somebody else's.
import type { IncomingMessage } from 'node:http';
import type { UrlSettings } from '../../contract/sprites.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { SessionStore } from '../sign-on/session-store.ts';
import type { CallerStore } from '../tokens/caller-store.ts';
import type { Principal } from '../tokens/principal.ts';
import { toTokenHash } from '../tokens/token-store.ts';
import type { WrongTokens } from '../tokens/wrong-tokens.ts';
import type { UserStore } from '../users/user-store.ts';
import type { CallerReader } from './caller-facts.ts';
import type { SpriteTarget } from './host-names.ts';
import { KeptAnswers } from './kept-answers.ts';
import { toOriginFault } from './same-origin.ts';
import type { ReadUrlSession, UrlCookies } from './url-cookies.ts';

/** `sign_on`: nobody is known, and signing on may help. */
export type AccessVerdict = 'allowed' | 'sign_on';

export interface UrlAccessDeps {
  readonly callers: Pick<CallerStore, 'find'>;
  readonly sessions: Pick<SessionStore, 'findUserByHash'>;
  readonly users: Pick<UserStore, 'roleIn'>;
  readonly cookies: Pick<UrlCookies, 'readSession' | 'readTexts'>;
  /** The origin of a name, as browsers write it. */
  readonly toOrigin: (name: string) => string;
  readonly wrongTokens: WrongTokens;
  readonly callerReader: Pick<CallerReader, 'addressOf'>;
  readonly clock: Clock;
}

type Found = NonNullable<SpriteTarget['found']>;
type Caller = Exclude<Principal, { type: 'anonymous' | 'operator' }>;

/** `Bearer` in any case, one space, and a token of this platform. */
const BEARER = /^bearer (remora_[\x21-\x7e]{1,505})$/i;
/** What was revoked is refused after so long. */
const KEPT_MS = 2_000;
/** How long a session without access is taken for the one with which this browser has just signed on. */
const FRESH_MS = 60_000;

export class UrlAccess {
  readonly #deps: UrlAccessDeps;
  readonly #tokens: KeptAnswers<Caller>;
  readonly #sessions: KeptAnswers<ReadUrlSession>;
  readonly #roles: KeptAnswers<'admin' | 'member'>;

  constructor(deps: UrlAccessDeps) {
    this.#deps = deps;
    const now_ms = () => deps.clock.mono_ms();
    this.#tokens = new KeptAnswers(KEPT_MS, now_ms);
    this.#sessions = new KeptAnswers(KEPT_MS, now_ms);
    this.#roles = new KeptAnswers(KEPT_MS, now_ms);
  }

  /**
   * Answers at once for everybody who was known a moment ago. Throws `not_found` for a caller who may not open it, `unauthorized` for a
   * token that is not valid, `forbidden` for what a page elsewhere has sent with the cookie, and `too_many_requests`.
   */
  judge(request: IncomingMessage, name: string, target: SpriteTarget): AccessVerdict | Promise<AccessVerdict> {
    const { found } = target;
    if (found?.sprite.url_settings.auth === 'public') return 'allowed';
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (token !== undefined) return this.#judgeToken(request, token, found);
    const texts = this.#deps.cookies.readTexts(request);
    if (texts.length === 0) return 'sign_on';
    return this.#judgeCookies(request, name, texts, found);
  }

  async #judgeToken(request: IncomingMessage, token: string, found: Found | undefined): Promise<AccessVerdict> {
    const hash = toTokenHash(token).toString('latin1');
    const caller = this.#tokens.get(hash) ?? (await this.#findCaller(request, token, hash));
    if (caller === undefined) throw new RemoraError('unauthorized', 'the token is not valid');
    if (found === undefined || !mayOpen(caller, found)) throw notFound();
    return 'allowed';
  }

  async #findCaller(request: IncomingMessage, token: string, hash: string): Promise<Caller | undefined> {
    const { callers, wrongTokens, callerReader, clock } = this.#deps;
    const trial = wrongTokens.begin(callerReader.addressOf(request));
    const caller = await callers.find(token, clock.wall_ms());
    if (caller === undefined) return undefined;
    trial.forgive();
    this.#tokens.keep(hash, caller);
    return caller;
  }

  /** One of them is the browser's own, and another one must not keep it from counting. */
  async #judgeCookies(
    request: IncomingMessage,
    name: string,
    texts: readonly string[],
    found: Found | undefined,
  ): Promise<AccessVerdict> {
    const sessions: ReadUrlSession[] = [];
    for (const text of texts) {
      const session = await this.#findSession(name, text);
      if (session !== undefined) sessions.push(session);
    }
    if (sessions.length === 0) return 'sign_on';
    const origin = this.#deps.toOrigin(name);
    const fault = toOriginFault(request, origin);
    if (fault !== undefined) throw new RemoraError('forbidden', fault);
    for (const { user_id } of sessions) {
      const role = await this.#findRole(found?.organization.id ?? '', user_id);
      if (found !== undefined && role !== undefined && mayVisit(role, found.sprite.url_settings)) return 'allowed';
    }
    const fresh_ms = this.#deps.clock.wall_ms() - FRESH_MS;
    const isOwn = origin.startsWith('https:') || sessions.some(({ since_ms }) => since_ms >= fresh_ms);
    // Somebody else may have set it here, which would keep this browser from signing on.
    if (!isOwn) return 'sign_on';
    throw notFound();
  }

  async #findSession(name: string, text: string): Promise<ReadUrlSession | undefined> {
    const key = `${name} ${text}`;
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const { cookies, sessions, clock } = this.#deps;
    const read = cookies.readSession(text, name);
    const user = read === undefined ? undefined : await sessions.findUserByHash(read.session_hash, clock.wall_ms());
    if (read === undefined || user?.id !== read.user_id) return undefined;
    this.#sessions.keep(key, read);
    return read;
  }

  async #findRole(organization_id: string, user_id: string): Promise<'admin' | 'member' | undefined> {
    const key = `${organization_id} ${user_id}`;
    const known = this.#roles.get(key);
    if (known !== undefined) return known;
    const role = await this.#deps.users.roleIn(organization_id, user_id);
    if (role !== undefined) this.#roles.keep(key, role);
    return role;
  }
}

/** A token that only reads opens nothing inside a sprite. */
function mayOpen(caller: Caller, { sprite, organization }: Found): boolean {
  if (caller.organization.id !== organization.id || caller.token.access !== 'full') return false;
  if (caller.type === 'sprite') return caller.sprite.id === sprite.id;
  return caller.type === 'organization';
}

function mayVisit(role: 'admin' | 'member', { private_access = 'organization' }: UrlSettings): boolean {
  return role === 'admin' || private_access === 'organization';
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such sprite, or you have no access to it');
}
