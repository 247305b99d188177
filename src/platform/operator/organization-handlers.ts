// The operations of organizations: an organization reads its own record, the operator reads and changes all of them.
import type { OrganizationRecord, organizationOperations } from '../../contract/organizations.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Organization, OrganizationLimits, OrganizationStore } from '../organizations/organization-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';

export interface OrganizationHandlerDeps {
  readonly organizations: OrganizationStore;
  /** Makes an organization with its app. */
  readonly createOrganization: (slug: string) => Promise<Organization>;
  /** Null takes the name away. The providers of its extensions are told. */
  readonly setDisplayName: (id: string, display_name: string | null) => Promise<void>;
  /** Deletes an organization with everything that is its own; throws `conflict` where that is not only itself and `force` is false. */
  readonly deleteOrganization: (organization: Organization, force: boolean) => Promise<void>;
}

export function createOrganizationHandlers(
  deps: OrganizationHandlerDeps,
): Handlers<typeof organizationOperations, Principal> {
  const { organizations } = deps;

  async function find(slug: string): Promise<Organization> {
    const found = await organizations.findBySlug(slug);
    if (found === undefined) throw new RemoraError('not_found', `there is no organization ${slug}`);
    return found;
  }

  return {
    readOwnOrganization: ({ principal }) => toRecord(organizationOf(principal)),
    listOrganizations: async () => ({ organizations: (await organizations.list()).map(toRecord) }),
    async createOrganization({ body }) {
      const { id } = await deps.createOrganization(body.name);
      if (body.display_name !== undefined) await deps.setDisplayName(id, body.display_name);
      return toRecord(await organizations.setLimits(id, toLimits(body)));
    },
    readOrganization: async ({ params }) => toRecord(await find(params.name)),
    async updateOrganization({ params, body }) {
      const { id } = await find(params.name);
      if (body.display_name !== undefined) await deps.setDisplayName(id, body.display_name);
      return toRecord(await organizations.setLimits(id, toLimits(body)));
    },
    async deleteOrganization({ params, query }) {
      await deps.deleteOrganization(await find(params.name), query.force);
    },
  };
}

type GivenLimits = { readonly [K in keyof OrganizationLimits]?: OrganizationLimits[K] | undefined };

function toLimits({ running_limit, warm_limit, creation_limit }: GivenLimits): Partial<OrganizationLimits> {
  return {
    ...(running_limit === undefined ? {} : { running_limit }),
    ...(warm_limit === undefined ? {} : { warm_limit }),
    ...(creation_limit === undefined ? {} : { creation_limit }),
  };
}

function toRecord({ slug, display_name, running_limit, warm_limit, creation_limit }: Organization): OrganizationRecord {
  return { name: slug, display_name, running_limit, warm_limit, creation_limit };
}
