// The operations of sprites: create, list, read, update, delete (Sandbox API, Endpoints).
import type { ListSpritesRequest, SpriteListResponse, spriteOperations } from '../../contract/sprites.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Organization } from '../organizations/organization-store.ts';
import { OPERATOR_TOKEN } from '../tokens/authenticate-operator.ts';
import { isCaller, organizationOf, type Principal } from '../tokens/principal.ts';
import { DEFAULT_CREATION_LIMIT } from './creation-limit.ts';
import { parsePageToken, toPageToken } from './page-token.ts';
import { type SpriteSurroundings, toSpriteRecord } from './sprite-record.ts';
import type { SpriteService } from './sprite-service.ts';
import type { SpriteStore } from './sprite-store.ts';
import { toMachineConfig } from './to-machine-config.ts';

export interface SpriteHandlerDeps {
  readonly sprites: SpriteStore;
  readonly service: SpriteService;
  /** How many sprites an organization without a limit of its own may create in a minute. */
  readonly creationLimit?: number | undefined;
  /** Signs continuation tokens. */
  readonly pageKey: Uint8Array;
  readonly around: SpriteSurroundings;
}

export function createSpriteHandlers(deps: SpriteHandlerDeps): Handlers<typeof spriteOperations, Principal> {
  const { service, around } = deps;
  return {
    async createSprite({ principal, body }) {
      const organization = organizationOf(principal);
      const config = toMachineConfig(body.config, body.external === true);
      const creationLimit = isOperator(principal)
        ? undefined
        : (organization.creation_limit ?? deps.creationLimit ?? DEFAULT_CREATION_LIMIT);
      const made = await service.create(organization, { ...body, config, creationLimit });
      return toSpriteRecord(made, organization, around);
    },
    async updateSprite({ principal, params, body }) {
      const organization = organizationOf(principal);
      return toSpriteRecord(await service.update(organization, params.name, body), organization, around);
    },
    async deleteSprite({ principal, params }) {
      await service.delete(organizationOf(principal), params.name);
    },
    listSprites: ({ principal, query }) => listSprites(deps, organizationOf(principal), query),
    async readSprite({ principal, params }) {
      return toSpriteRecord(await service.findFor(principal, params.name), organizationOf(principal), around);
    },
  };
}

/** Whether the call came at the platform's own socket, for whatever organization. */
function isOperator(principal: Principal): boolean {
  return isCaller(principal) && principal.token.id === OPERATOR_TOKEN.id;
}

async function listSprites(
  deps: SpriteHandlerDeps,
  organization: Organization,
  query: ListSpritesRequest,
): Promise<SpriteListResponse> {
  const { prefix = '', max_results } = query;
  const scope = { organization_id: organization.id, prefix };
  const after = toStart(deps.pageKey, scope, query.continuation_token);
  const rows = await deps.sprites.list({ ...scope, after, limit: max_results + 1 });
  const page = rows.slice(0, max_results);
  const last = page.at(-1);
  const sprites = page.map((row) => toSpriteRecord(row, organization, deps.around));
  const has_more = rows.length > page.length;
  const count = (status: string) => sprites.filter((sprite) => sprite.status === status).length;
  const { running_limit, warm_limit } = organization;
  return {
    sprites,
    has_more,
    running: count('running'),
    warm: count('warm'),
    cold: count('cold'),
    name: organization.slug,
    ...(has_more && last !== undefined ? { next_continuation_token: toPageToken(deps.pageKey, scope, last.name) } : {}),
    ...(running_limit === null ? {} : { running_limit }),
    ...(warm_limit === null ? {} : { warm_limit }),
  };
}

function toStart(key: Uint8Array, scope: Parameters<typeof parsePageToken>[1], token: string | undefined): string {
  if (token === undefined) return '';
  const after = parsePageToken(key, scope, token);
  if (after !== undefined) return after;
  const field = 'query.continuation_token';
  const message = 'it is not from this list; send it as it was given, with the same prefix';
  throw new RemoraError('invalid_request', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}
