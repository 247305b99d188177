// Finds what a host name stands for in the records, and keeps it for a moment: every request asks.
import type { AppStore } from '../apps/app-store.ts';
import type { Changes } from '../changes.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { Organization, OrganizationStore } from '../organizations/organization-store.ts';
import type { SpriteRow, SpriteStore } from '../sprites/sprite-store.ts';
import type { NamedHost } from './parse-host.ts';

export interface SpriteTarget {
  readonly type: 'sprite';
  readonly port: number | undefined;
  /** Undefined for a name that no sprite has, which must look like one that is not the caller's. */
  readonly found:
    | { readonly sprite: SpriteRow; readonly organization: Organization; readonly machine: MachineRow | undefined }
    | undefined;
}

export interface AppTarget {
  readonly type: 'app';
  readonly app: string;
  /** Its machines that serve HTTP. */
  readonly machines: readonly MachineRow[];
}

export type HostTarget = SpriteTarget | AppTarget;

export interface HostNamesDeps {
  readonly organizations: Pick<OrganizationStore, 'findBySlug'>;
  readonly sprites: Pick<SpriteStore, 'findByName'>;
  readonly machines: Pick<MachineStore, 'findBySprite' | 'list'>;
  readonly apps: Pick<AppStore, 'find'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

interface Kept {
  readonly target: HostTarget;
  readonly until_ms: number;
}

/** What another platform process changes is seen after so long. */
const KEPT_MS = 2_000;
const NAMES_KEPT = 10_000;
const MACHINES_OF_APP = 1_000;

export class HostNames {
  readonly #deps: HostNamesDeps;
  readonly #kept = new Map<string, Kept>();
  #changes = 0;

  constructor(deps: HostNamesDeps) {
    this.#deps = deps;
    const { changes } = deps;
    const forget = ({ sprite_id }: { readonly sprite_id: string }) => this.#forget(sprite_id);
    changes.subscribe('sprite_created', forget);
    changes.subscribe('sprite_changed', forget);
    changes.subscribe('machine_moved', forget);
  }

  /** What a name stood for a moment ago; undefined for one that nobody has asked for. */
  recall(name: string): HostTarget | undefined {
    const kept = this.#kept.get(name);
    return kept !== undefined && kept.until_ms > this.#deps.now_ms() ? kept.target : undefined;
  }

  async find(name: string, named: NamedHost): Promise<HostTarget> {
    const before = this.#changes;
    const target = named.type === 'app' ? await this.#findApp(named.app) : await this.#findSprite(named);
    // What changed while the database was asked may not be in the answer.
    if (before === this.#changes) this.#keep(name, target);
    return target;
  }

  /** Asks as often for a name that nobody has. */
  async #findSprite(named: Extract<NamedHost, { type: 'sprite' }>): Promise<SpriteTarget> {
    const { organizations, sprites, machines } = this.#deps;
    const organization = await organizations.findBySlug(named.organization);
    const sprite = await sprites.findByName(organization?.id ?? '', named.sprite);
    const machine = await machines.findBySprite(sprite?.id ?? '');
    const found = organization === undefined || sprite === undefined ? undefined : { sprite, organization, machine };
    return { type: 'sprite', port: named.port, found };
  }

  /** The machines of an app that serve HTTP, as the database has them now. */
  async findMachines(app: string): Promise<readonly MachineRow[]> {
    return (await this.#findApp(app)).machines;
  }

  async #findApp(app: string): Promise<AppTarget> {
    const all = await findMachinesOf(app, this.#deps);
    return { type: 'app', app, machines: all.filter(({ config }) => config.http_service !== undefined) };
  }

  #keep(name: string, target: HostTarget): void {
    this.#kept.delete(name);
    this.#kept.set(name, { target, until_ms: this.#deps.now_ms() + KEPT_MS });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > NAMES_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** A name that nobody had may be that of this sprite. */
  #forget(sprite_id: string): void {
    this.#changes += 1;
    for (const [name, { target }] of this.#kept) {
      if (mayConcern(target, sprite_id)) this.#kept.delete(name);
    }
  }
}

/** All machines of an app, as the database has them now. */
export async function findMachinesOf(
  app: string,
  { apps, machines }: Pick<HostNamesDeps, 'apps'> & { readonly machines: Pick<MachineStore, 'list'> },
): Promise<readonly MachineRow[]> {
  const row = await apps.find(app);
  const page = { after: '', limit: MACHINES_OF_APP };
  return row === undefined ? [] : await machines.list(row.organization_id, app, page);
}

function mayConcern(target: HostTarget, sprite_id: string): boolean {
  if (target.type === 'app') return target.machines.some((machine) => machine.sprite_id === sprite_id);
  return target.found === undefined || target.found.sprite.id === sprite_id;
}
