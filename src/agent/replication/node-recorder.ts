// Records which node and which cluster the stream comes from: a node of another cluster makes everything known void.
import type { EventHub } from '../events/event-hub.ts';
import type { CacheChange } from './cache/cache-change.ts';
import type { CacheWriter } from './cache/cache-writer.ts';
import type { NodeIdentity } from './follow/follow-connection.ts';
import type { Replica } from './replica.ts';

export interface NodeRecorderOptions {
  readonly hub: Pick<EventHub, 'publish'>;
  readonly replica: Replica;
  readonly cache: CacheWriter;
  /** Called for each database that is gone. */
  readonly onPosition: (db: string) => void;
}

export interface NodeRecorder {
  /** Publishes `replication_cluster_changed` and `replication_node_restarted`. What `next` leaves out stays as it was. */
  set(next: NodeIdentity): void;
  readonly node: NodeIdentity;
}

/** Begins with the node that the cache knows. */
export function createNodeRecorder({ cache, hub, onPosition, replica }: NodeRecorderOptions): NodeRecorder {
  let node: NodeIdentity = { nodeId: cache.fact('node_id'), clusterId: cache.fact('cluster_id') };

  function clear(): void {
    const gone = [...replica.entries.keys()];
    replica.clear();
    for (const db of gone) onPosition(db);
    cache.add([{ type: 'clear' }]);
  }

  return {
    set(next) {
      const before = node;
      node = { nodeId: next.nodeId ?? before.nodeId, clusterId: next.clusterId ?? before.clusterId };
      if (before.clusterId !== undefined && node.clusterId !== before.clusterId) {
        clear();
        hub.publish('replication_cluster_changed', { cluster_id: node.clusterId, previous: before.clusterId });
      }
      if (before.nodeId !== undefined && node.nodeId !== before.nodeId) {
        hub.publish('replication_node_restarted', { node_id: node.nodeId, previous: before.nodeId });
      }
      const facts: CacheChange[] = [];
      if (node.nodeId !== undefined && node.nodeId !== before.nodeId) {
        facts.push({ type: 'fact', name: 'node_id', value: node.nodeId });
      }
      if (node.clusterId !== undefined && node.clusterId !== before.clusterId) {
        facts.push({ type: 'fact', name: 'cluster_id', value: node.clusterId });
      }
      if (facts.length > 0) cache.add(facts);
    },
    get node() {
      return node;
    },
  };
}
