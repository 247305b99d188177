// The readers of the development node's event stream. The answer of a reader that falls more than 1024 events behind is ended normally,
// as a real node does, which looks like a clean shutdown.
import type { ServerResponse } from 'node:http';

export const QUEUE_CAP = 1_024;

export interface NodeSubscribers {
  /** Sends `first` and then every line published from now on. */
  add(response: ServerResponse, first: string): void;
  publish(line: string): void;
  /** Ends every answer normally. */
  endAll(): void;
  readonly count: number;
}

interface Subscriber {
  readonly response: ServerResponse;
  readonly queue: string[];
  blocked: boolean;
}

export function createNodeSubscribers(): NodeSubscribers {
  const subscribers = new Set<Subscriber>();

  function write(subscriber: Subscriber, line: string): void {
    if (subscriber.blocked) subscriber.queue.push(line);
    else subscriber.blocked = !subscriber.response.write(line);
    if (subscriber.queue.length > QUEUE_CAP) end(subscriber);
  }

  function end(subscriber: Subscriber): void {
    subscribers.delete(subscriber);
    subscriber.response.end();
  }

  return {
    add(response, first) {
      const subscriber: Subscriber = { response, queue: [], blocked: false };
      response.on('drain', () => {
        subscriber.blocked = false;
        for (const line of subscriber.queue.splice(0)) write(subscriber, line);
      });
      response.once('close', () => subscribers.delete(subscriber));
      write(subscriber, first);
      subscribers.add(subscriber);
    },
    publish(line) {
      for (const subscriber of subscribers) write(subscriber, line);
    },
    endAll() {
      for (const subscriber of subscribers) end(subscriber);
    },
    get count() {
      return subscribers.size;
    },
  };
}
