// The network policy of this sprite in its machine: the rules come over the channel, and the process beside the agent enforces them. What reaches
// that process is loaded by the first call that needs it: what is not restricted costs nothing.
import { dirname, join } from 'node:path';
import { RESTRICTED_HEADER } from '../../contract/channel.ts';
import type { NetworkState } from '../../contract/local/network.ts';
import type { ownNetworkOperations } from '../../contract/local/own-network.ts';
import type { NetworkPolicyRequest } from '../../contract/network-policy.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Caller } from '../access/authenticator.ts';
import type { Part } from '../parts.ts';
import { createPolicyOfBoot } from '../policy-of-boot.ts';
import type { ExemptSettings } from './exemptions.ts';
import { createNetworkHandlers } from './network-handlers.ts';
import { createNetworkProcess } from './network-process.ts';
import { createPolicyTraces } from './policy-traces.ts';
import { createShownPolicy } from './shown-policy.ts';
import { whyNotEnforced } from './why-not-enforced.ts';

export interface NetworkPartOptions {
  readonly config: {
    readonly socket: string;
    readonly stateDir: string;
    readonly logLevel: string;
    readonly networkPolicy: boolean;
    /** The digest of the rules that are to hold, as of the boot. */
    readonly networkRules: string | undefined;
  } & ExemptSettings;
  readonly env: NodeJS.ProcessEnv;
  /** The user of the agent. */
  readonly uid: number;
  /** The version of the agent. */
  readonly version: string;
  readonly log: Log;
  readonly part: Part;
}

export interface NetworkPart extends AsyncDisposable {
  readonly handlers: Handlers<typeof ownNetworkOperations, Caller>;
  /** Sees to it that what held before holds again, and that what enforces it runs. */
  start(): void;
  /**
   * Resolves when the policy of this sprite holds, at once where it has none. Rejects with `start_failed` where it cannot: programs would
   * run without it.
   */
  mayRun(): Promise<void>;
  /** Headers with which a channel is asked for: the platform looks at a machine that may be restricted. */
  toHeaders(): Readonly<Record<string, string>>;
}

/** How often the agent sees to it that the process runs, while something is restricted: names are not resolved without it. */
const LOOK_MS = 2_000;
const POLICY = 'policy';
const OTHER_ON_DISK =
  'nothing runs before the platform has brought the network policy: the one on the disk is another one';
const NOT_ENFORCED = 'the network policy of this sprite is not enforced';

const createRulesOfBoot = (digest: string | undefined, path: string) =>
  createPolicyOfBoot<NetworkPolicyRequest | undefined>({
    ...{ digest, path },
    async toDigest() {
      const { digestRules } = await import('../../core/network-policy/digest-rules.ts');
      return (kept) => digestRules(kept?.rules ?? []);
    },
  });

export function createNetworkPart({ config, env, uid, version, log, part }: NetworkPartOptions): NetworkPart {
  const directory = dirname(config.socket);
  const path = join(directory, 'network', 'network.sock');
  const traces = createPolicyTraces(config.stateDir);
  const shown = createShownPolicy(join(directory, 'network-policy.json'), log);
  const missing = () => whyNotEnforced(path, config.networkPolicy, uid);
  let holding: Promise<void> | undefined;
  let isRestricted = false;
  /** What is missing for the policy that the platform has stored. */
  let unenforced: string | undefined;
  /** One change after the other. */
  const turns = createKeyedMutex();
  let timer: NodeJS.Timeout | undefined;
  const rulesOfBoot = createRulesOfBoot(config.networkRules, join(directory, 'network-confirmed'));
  const beside = createNetworkProcess({ config, env, version, log, part, path, isNeeded: () => isRestricted });

  async function enforce({ rules }: NetworkPolicyRequest): Promise<NetworkPolicyRequest> {
    const { findExemptions } = await import('./exemptions.ts');
    const exempt = await findExemptions(config);
    const state: NetworkState = await beside.ask((client) =>
      client.call('enforceNetwork', { body: { rules, exempt } }),
    );
    isRestricted = state.rules.length > 0;
    if (isRestricted) await beside.watch();
    shown.show({ rules: state.rules });
    return { rules: state.rules };
  }

  const enforceNext = (policy: NetworkPolicyRequest) =>
    turns.run(POLICY, async () => {
      const enforced = await enforce(policy).catch((error: unknown) => {
        rulesOfBoot.refuse(error);
        throw error;
      });
      traces.keep(enforced);
      confirm();
      return enforced;
    });

  async function holdAgain(): Promise<void> {
    if (await turns.run(POLICY, enforceKept)) return;
    part.set('degraded', OTHER_ON_DISK);
    await rulesOfBoot.confirmed();
  }

  /** Whether the rules on the disk are those that are to hold. */
  async function enforceKept(): Promise<boolean> {
    if (unenforced !== undefined) throw new Error(`it needs ${unenforced}`);
    const kept = traces.kept();
    const areThese = await rulesOfBoot.isThis(() => kept);
    if (kept === undefined && areThese) return true;
    const lacking = missing();
    if (lacking !== undefined) throw new Error(`it needs ${lacking}`);
    if (kept !== undefined) await enforce(kept);
    return areThese;
  }

  function confirm(): void {
    unenforced = undefined;
    rulesOfBoot.confirm();
    holding = Promise.resolve();
    showAbility();
  }

  function mayRun(): Promise<void> {
    holding ??= holdAgain().catch((cause: unknown) => {
      holding = undefined;
      const reason = toErrorMessage(cause);
      part.set('failed', reason);
      const message = `nothing runs here, because the network policy of this sprite cannot be enforced: ${reason}`;
      throw new RemoraError('start_failed', message, { cause });
    });
    return holding;
  }

  /** Nobody is asked, and nothing is started, where nothing is restricted. */
  const isQuiet = () => !traces.areThere();
  /** Nothing keeps a program from running or from the network, whatever the platform has stored by now. */
  const isOpen = () => isQuiet() && unenforced === undefined && config.networkRules === undefined;

  /** A disk may come from a machine that could enforce: after a boot, the rules on it hold in no kernel. */
  function forget(): boolean {
    if (shown.isRestricted()) return false;
    traces.removeOwn();
    confirm();
    return true;
  }

  function onUnenforced(lacking: string): void {
    unenforced = lacking;
    rulesOfBoot.refuse(new Error(`it needs ${lacking}`));
    holding = undefined;
    mayRun().catch((err: unknown) => log.error({ err }, NOT_ENFORCED));
  }

  function showAbility(): void {
    const lacking = missing();
    part.set(lacking === undefined ? 'ok' : 'off', lacking && `a network policy needs ${lacking}`);
  }

  return {
    mayRun,
    toHeaders: () => (isOpen() ? {} : { [RESTRICTED_HEADER]: 'true' }),
    handlers: createNetworkHandlers({
      ...{ ask: beside.ask, enforce: enforceNext, missing, isQuiet, forget, onUnenforced },
      settled: () => turns.run(POLICY, async () => undefined),
    }),
    start() {
      showAbility();
      mayRun().catch((err: unknown) => log.error({ err }, NOT_ENFORCED));
      timer = setInterval(() => {
        if (isRestricted || part.state === 'failed') void beside.look(mayRun);
      }, LOOK_MS).unref();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await beside[Symbol.asyncDispose]();
    },
  };
}
