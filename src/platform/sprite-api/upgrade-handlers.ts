// The operation that upgrades the agent of a sprite.
import { upgradeOperations } from '../../contract/upgrade.ts';
import type { EdgeHandlers } from '../../http/handler.ts';
import { readQuery } from '../../http/parse-pairs.ts';
import { parseWith } from '../../http/parse-with.ts';
import { PassOn } from '../../http/pass-on.ts';
import { sendJson } from '../../http/reply.ts';
import type { ChannelRecords } from '../channels/channel-records.ts';
import type { Channels } from '../channels/channels.ts';
import type { Principal } from '../tokens/principal.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import type { ReachMachine } from './reach-machine.ts';
import { upgradeAgent } from './upgrade-agent.ts';

const NO_CONTENT = 204;

export interface UpgradeHandlerDeps {
  readonly reach: ReachMachine;
  /** Undefined where there is one platform process only. */
  readonly others: Pick<OtherPlatforms, 'pass'> | undefined;
  readonly channels: Pick<Channels, 'find'>;
  /** Who holds the channels; undefined where there is one platform process only. */
  readonly records: Pick<ChannelRecords, 'holderOf'> | undefined;
  /** The id of this platform process. */
  readonly host: string;
}

export function createUpgradeHandlers({
  reach,
  others,
  channels,
  records,
  host,
}: UpgradeHandlerDeps): EdgeHandlers<typeof upgradeOperations, Principal> {
  async function isElsewhere(machine_id: string): Promise<boolean> {
    const holder = await records?.holderOf(machine_id);
    return holder !== undefined && holder !== host;
  }

  return {
    upgradeSprite: new PassOn<Principal>(async ({ request, principal, params, upgrade }, response) => {
      const { force } = parseWith(upgradeOperations.upgradeSprite.query, readQuery(request.url ?? ''), 'query');
      const reached = await reach(request, principal, params.name ?? '');
      if ('host' in reached) {
        await others?.pass(reached.host, { request, principal, upgrade }, response);
        return;
      }
      const answer = await upgradeAgent({ channels, isElsewhere }, reached.channel, force);
      if (answer === undefined) response.writeHead(NO_CONTENT).end();
      else sendJson(response, 200, answer);
    }),
  };
}
