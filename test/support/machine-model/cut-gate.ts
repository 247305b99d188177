// The life of one platform process in the model: every call that it makes passes here, and from the moment of its death none of them ever
// ends, so that no code of it goes on.

export interface CutGate {
  readonly isDead: boolean;
  /** Runs a call, of which the platform sees the end only if it lives then. */
  pass<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Counts a step within a call. Throws when the platform dies at it, so that the call is undone. */
  check(name: string): void;
  /** Never resolves: the platform waits until it dies. */
  hang(): Promise<never>;
  /** Dies at the `at`-th step from now; undefined: it lives on. */
  arm(at: number | undefined): void;
  die(): void;
  /** Resolves when it has died, or when a call hangs for ever. */
  readonly over: Promise<void>;
}

class Cut extends Error {}

export function createCutGate(onStep: (name: string) => void): CutGate {
  const over = Promise.withResolvers<void>();
  let left = Infinity;
  let isDead = false;

  function die(): void {
    isDead = true;
    over.resolve();
  }

  function tick(name: string): void {
    if (isDead) return;
    left -= 1;
    onStep(left === 0 ? `${name}: cut` : name);
    if (left === 0) die();
  }

  const never = <T>() => new Promise<T>(() => undefined);

  return {
    get isDead() {
      return isDead;
    },
    async pass(name, work) {
      tick(`before ${name}`);
      if (isDead) return await never();
      try {
        const value = await work();
        tick(`after ${name}`);
        return isDead ? await never() : value;
      } catch (error) {
        if (isDead) return await never();
        throw error;
      }
    },
    check(name) {
      tick(name);
      if (isDead) throw new Cut('the platform died');
    },
    hang() {
      over.resolve();
      return never();
    },
    arm(at) {
      left = at ?? Infinity;
    },
    die,
    over: over.promise,
  };
}
